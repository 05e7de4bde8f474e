package api

import (
	"context"
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// ResumeRequest takes a rollout up again.
type ResumeRequest struct {
	Pause    bool   `json:"pause,omitempty" doc:"Pause the rollout until it is resumed."`
	SkipSoak bool   `json:"skip_soak,omitempty" doc:"Replace the other instances without a soak."`
	Reason   string `json:"reason,omitempty" maxLength:"500"`
}

type rolloutInput[T any] struct {
	CheckInput
	ID   string `path:"id" maxLength:"512" doc:"A fleet's address, name or id, or an image as image.NAME or by its declared digest, which selects every fleet that declares it."`
	Body T
}

func (h *Handler) addImages() {
	add(h, route{id: "images", method: http.MethodGet, path: "/v1/images", useCase: "images", tag: "images",
		summary: "List the images of fleets and instances",
		about:   "With their state in each fleet and the progress of their rollouts."},
		func(ctx context.Context, _ *struct{}) (*body[List[view.ImageReport]], error) {
			found, err := h.service.Images(ctx)
			return listOf(found), err
		})
	for _, of := range []struct{ prefix, path string }{{"", "/v1/images/{id}"}, {"fleet-", "/v1/fleets/{id}"}} {
		add(
			h,
			route{
				id:      of.prefix + "rollout",
				method:  http.MethodPost,
				path:    of.path + "/rollout",
				useCase: "image rollout",
				tag:     "images",
				status:  http.StatusOK,
				summary: "Pause a rollout, or resume one that was paused, halted or rolled back",
				about:   "After a halt or a rollback it starts with a canary again. If nothing can be resumed, the answer says so.",
			},
			func(ctx context.Context, in *rolloutInput[ResumeRequest]) (*body[orders.RolloutReceipt], error) {
				o := h.orders(in.CheckInput)
				if in.Body.Pause {
					return respond(o.PauseRollout(ctx, orders.RolloutRequest{Subject: in.ID, Reason: in.Body.Reason}))
				}
				return respond(
					o.ResumeRollout(ctx, orders.ResumeRequest{Subject: in.ID, SkipSoak: in.Body.SkipSoak, Reason: in.Body.Reason}),
				)
			},
		)
		add(
			h,
			route{
				id:      of.prefix + "rollback",
				method:  http.MethodPost,
				path:    of.path + "/rollback",
				useCase: "image rollback",
				tag:     "images",
				status:  http.StatusOK,
				summary: "Return to the last known good image",
				about: "It holds until an apply changes the image, or the rollout is resumed. Without a known good image it is " +
					"a problem 409.",
			},
			func(ctx context.Context, in *rolloutInput[ReasonRequest]) (*body[orders.RolloutReceipt], error) {
				return respond(h.orders(in.CheckInput).RollBack(ctx, orders.RolloutRequest{Subject: in.ID, Reason: in.Body.Reason}))
			},
		)
	}
}
