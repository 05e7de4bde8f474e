package api

import (
	"context"
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/plans"
)

// About is what a client wants to know before anything else.
type About struct {
	Version    string `json:"version" doc:"Of the manager."`
	PlanFormat int    `json:"plan_format" doc:"Of the plans that it makes and takes."`
}

// Health says that the process answers, and nothing more: it is for everybody.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

type body[T any] struct{ Body T }

func (h *Handler) addAbout() {
	add(h, route{id: "version", method: http.MethodGet, path: "/v1/version", tag: "about",
		summary: "The manager's version", about: "For every caller that is known, whatever its permissions."},
		func(context.Context, *struct{}) (*body[About], error) {
			return &body[About]{About{Version: h.config.Version, PlanFormat: plans.Format}}, nil
		})
	add(h, route{id: "health", method: http.MethodGet, path: "/healthz", open: true, tag: "about",
		summary: "Whether the process answers", about: "For everybody, without a token."},
		func(context.Context, *struct{}) (*body[Health], error) {
			return &body[Health]{Health{"ok"}}, nil
		})
}
