package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// List is an answer of several things.
type List[T any] struct {
	Items []T `json:"items" nullable:"false"`
	// Next is empty after the last page, and where there are no pages.
	Next string `json:"next,omitempty" doc:"The cursor of the next page."`
}

func listOf[T any](items []T) *body[List[T]] {
	return &body[List[T]]{List[T]{Items: append([]T{}, items...)}}
}

// Capacity is a fleet's numbers (spec §190).
type Capacity struct {
	Address fleet.FleetAddress  `json:"address"`
	ID      fleet.RunnerFleetID `json:"id"`
	Min     int                 `json:"min"`
	Max     int                 `json:"max"`
	Warm    int                 `json:"warm"`
	Desired int                 `json:"desired"`
	Counts  planner.Counts      `json:"counts"`
	Bounds  []fleet.Bound       `json:"bounds" doc:"The rules that changed the desired number, in the order in which they apply."`
}

type fleetInput struct {
	ID string `path:"id" maxLength:"512" doc:"The fleet's address (fleet.linux), its name (linux) or its id."`
}

type limitInput struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The largest number of entries; the newest are returned."`
}

func (h *Handler) addFleets() {
	add(h, route{id: "fleets", method: http.MethodGet, path: "/v1/fleets", useCase: "fleets", tag: "fleets",
		summary: "List the fleets"},
		func(ctx context.Context, _ *struct{}) (*body[List[view.Fleet]], error) {
			fleets, err := h.service.Fleets(ctx)
			return listOf(fleets), err
		})
	add(h, route{id: "fleet", method: http.MethodGet, path: "/v1/fleets/{id}", useCase: "fleets", tag: "fleets",
		summary: "One fleet"},
		func(ctx context.Context, in *fleetInput) (*body[view.Fleet], error) {
			f, err := h.fleet(ctx, in.ID)
			return &body[view.Fleet]{f}, err
		})
	add(
		h,
		route{id: "capacity", method: http.MethodGet, path: "/v1/fleets/{id}/capacity", useCase: "fleets", tag: "fleets",
			summary: "One fleet's numbers"},
		func(ctx context.Context, in *fleetInput) (*body[Capacity], error) {
			f, err := h.fleet(ctx, in.ID)
			return &body[Capacity]{Capacity{Address: f.Address, ID: f.ID, Min: f.Min, Max: f.Max, Warm: f.Warm,
				Desired: f.Desired, Counts: f.Counts, Bounds: f.Bounds}}, err
		},
	)
	type decisionsInput struct { // huma doesn't look into embedded ones
		ID    string `path:"id" maxLength:"512" doc:"The fleet's address (fleet.linux), its name (linux) or its id."`
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The largest number of entries; the newest are returned."`
	}
	add(
		h,
		route{id: "decisions", method: http.MethodGet, path: "/v1/fleets/{id}/decisions", useCase: "decisions", tag: "fleets",
			summary: "List the decisions about a fleet, newest first"},
		func(ctx context.Context, in *decisionsInput) (*body[List[fleet.Decision]], error) {
			f, err := h.fleet(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			decisions, err := h.service.Decisions(ctx, f.Address, in.Limit)
			return listOf(decisions), err
		},
	)
}

// fleet finds a fleet by its id, address or name.
func (h *Handler) fleet(ctx context.Context, wanted string) (view.Fleet, error) {
	fleets, err := h.service.Fleets(ctx)
	if err != nil {
		return view.Fleet{}, err
	}
	n := slices.IndexFunc(fleets, func(f view.Fleet) bool {
		return wanted == string(f.ID) || wanted == string(f.Address) || wanted == f.Address.Name()
	})
	if n < 0 {
		return view.Fleet{}, &access.NotFoundError{Kind: "fleet", ID: wanted}
	}
	return fleets[n], nil
}
