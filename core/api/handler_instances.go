package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

const maxPage = 1000

type instancesInput struct {
	Fleet  string `query:"fleet" maxLength:"512" doc:"Only instances of this fleet: its address or name. An unknown fleet is a problem 404."`
	State  string `query:"state" maxLength:"64" doc:"Only instances in this state."`
	All    bool   `query:"all" doc:"Include terminated instances, newest first, without runners and operations."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The largest number of entries on a page."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"The cursor of the page: next of the previous page."`
}

func (h *Handler) addInstances() {
	add(h, route{
		id:      "instances",
		method:  http.MethodGet,
		path:    "/v1/instances",
		useCase: "instances",
		tag:     "instances",
		summary: "List the live instances, by fleet and age",
		about: "With all, terminated instances too, newest first. A page begins after the last instance of the previous " +
			"page, even if that has ended: an instance that exists throughout is on exactly one page.",
	},
		func(ctx context.Context, in *instancesInput) (*body[List[view.Instance]], error) {
			after, err := readCursor(in.Cursor)
			if err != nil {
				return nil, err
			}
			if in.State != "" && !slices.Contains(fleet.CapacityInstanceStates(), fleet.CapacityInstanceState(in.State)) {
				return nil, &access.InvalidError{
					Reason: "unknown state; valid: requested, provisioning, bootstrapping, enrolling, healthy, draining, " +
						"quarantined, failed, terminating and terminated",
				}
			}
			if in.All {
				return h.history(ctx, *in, after)
			}
			all, err := h.service.Instances(ctx)
			if err != nil {
				return nil, err
			}
			list := page(all, *in, after)
			if len(list.Items) == 0 && after == nil {
				err = h.fleetExists(ctx, in.Fleet)
			}
			return &body[List[view.Instance]]{list}, err
		})
	type instanceInput struct {
		ID string `path:"id" maxLength:"64" doc:"The instance's id, or the beginning or end of it."`
	}
	add(h, route{
		id:      "instance",
		method:  http.MethodGet,
		path:    "/v1/instances/{id}",
		useCase: "instance",
		tag:     "instances",
		summary: "One instance, live or terminated, with its runner and operations",
		about: "The beginning or the end of an id is enough where no other instance has it; else the problem's detail " +
			"lists the candidates.",
	},
		func(ctx context.Context, in *instanceInput) (*body[view.Instance], error) {
			i, err := h.service.Instance(ctx, in.ID)
			return &body[view.Instance]{i}, err
		})
}

// history is a page of what is and was.
func (h *Handler) history(ctx context.Context, in instancesInput, after *position) (*body[List[view.Instance]], error) {
	q := query.HistoryFilter{Fleet: in.Fleet, State: fleet.CapacityInstanceState(in.State), Limit: in.Limit}
	if after != nil {
		q.Before = after.ID
	}
	page, err := h.service.History(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(page.Instances) == 0 && after == nil { // a removed fleet still has ended instances
		if err := h.fleetExists(ctx, in.Fleet); err != nil {
			return nil, err
		}
	}
	list := List[view.Instance]{Items: append([]view.Instance{}, page.Instances...)}
	if page.Next != "" {
		list.Next = cursorOf(position{ID: page.Next})
	}
	return &body[List[view.Instance]]{list}, nil
}

// fleetExists fails if no fleet has the address or the name: an empty list would look as if
// the fleet had no instances. An empty name is every fleet.
func (h *Handler) fleetExists(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	fleets, err := h.service.Fleets(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(
		fleets,
		func(f view.Fleet) bool { return string(f.Address) == name || f.Address.Name() == name },
	) {
		return nil
	}
	return &access.NotFoundError{Kind: "fleet", ID: name}
}

// position is an instance's place in the order of the pages.
type position struct {
	Fleet   fleet.FleetAddress       `json:"f"`
	Created time.Time                `json:"c"`
	ID      fleet.CapacityInstanceID `json:"i"`
}

func positionOf(i view.Instance) position { return position{i.Fleet, i.Created, i.ID} }

// byPosition is the order: by fleet, the oldest first.
func byPosition(a, b position) int {
	return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

// page is the instances that are asked for, behind a position.
func page(all []view.Instance, in instancesInput, after *position) List[view.Instance] {
	wanted := slices.DeleteFunc(slices.Clone(all), func(i view.Instance) bool {
		return in.Fleet != "" && in.Fleet != string(i.Fleet) && in.Fleet != i.Fleet.Name() ||
			in.State != "" && in.State != string(i.State) ||
			after != nil && byPosition(positionOf(i), *after) <= 0
	})
	slices.SortFunc(wanted, func(a, b view.Instance) int { return byPosition(positionOf(a), positionOf(b)) })
	list := List[view.Instance]{Items: append([]view.Instance{}, wanted[:min(in.Limit, len(wanted))]...)}
	if len(wanted) > in.Limit {
		list.Next = cursorOf(positionOf(wanted[in.Limit-1]))
	}
	return list
}

func cursorOf(p position) string {
	text, err := json.Marshal(p)
	if err != nil {
		return "" // three strings and a time
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func readCursor(cursor string) (*position, error) {
	if cursor == "" {
		return nil, nil
	}
	var p position
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return nil, &access.InvalidError{
			Reason: "the cursor is none of ours; take it from next of the page before, or leave it out",
		}
	}
	return &p, nil
}
