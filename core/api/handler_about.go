package api

import (
	"context"
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/plans"
)

// About is what a client wants to know before anything else.
type About struct {
	Version    string `json:"version" doc:"The manager's version."`
	PlanFormat int    `json:"plan_format" doc:"The format of the plans that it makes and accepts."`
}

// Health says that the process answers, and nothing more: it is for everybody.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

type body[T any] struct{ Body T }

func (h *Handler) addAbout() {
	add(h, route{id: "version", method: http.MethodGet, path: "/v1/version", tag: "about",
		summary: "The manager's version", about: "For every authenticated caller, whatever its permissions."},
		func(context.Context, *struct{}) (*body[About], error) {
			return &body[About]{About{Version: h.config.Version, PlanFormat: plans.Format}}, nil
		})
	add(h, route{id: "health", method: http.MethodGet, path: "/healthz", open: true, tag: "about",
		summary: "Check that the process answers", about: "Needs no token."},
		func(context.Context, *struct{}) (*body[Health], error) {
			return &body[Health]{Health{"ok"}}, nil
		})
}
