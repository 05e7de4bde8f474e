package api

import (
	"context"
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// NewJoin asks for the command that joins a host.
type NewJoin struct {
	Host       string `json:"host" minLength:"1" maxLength:"253" doc:"The id of a host in an applied inventory."`
	Fleet      string `json:"fleet,omitempty" maxLength:"512" doc:"The fleet's address or name. Default: the only fleet that can take the host."`
	Foreground bool   `json:"foreground,omitempty" doc:"Run the agent in the foreground of the shell instead of as a service."`
}

func (h *Handler) addJoins() {
	type joinInput struct{ Body NewJoin }
	add(
		h,
		route{
			id:      "join",
			method:  http.MethodPost,
			path:    "/v1/joins",
			useCase: "token join",
			tag:     "tokens",
			status:  http.StatusCreated,
			summary: "Claim a host and create its join command",
			about: "The command contains a token: keep it secret; it works once, within 24 hours. For a host that is " +
				"claimed and not joined yet, a new command is created and the previous one stops working, so a lost answer is " +
				"not a problem. A host that is joined already is a problem 409.",
		},
		func(ctx context.Context, in *joinInput) (*body[orders.JoinTicket], error) {
			ticket, err := h.service.Join(
				ctx,
				orders.JoinRequest{Host: in.Body.Host, Fleet: in.Body.Fleet, Foreground: in.Body.Foreground},
			)
			return &body[orders.JoinTicket]{ticket}, err
		},
	)
}

// Join is installation.Service's.
func (c *Client) Join(ctx context.Context, r orders.JoinRequest) (orders.JoinTicket, error) {
	var ticket orders.JoinTicket
	err := c.call(
		ctx,
		call{method: http.MethodPost, path: "/v1/joins", send: NewJoin{r.Host, r.Fleet, r.Foreground}, into: &ticket},
	)
	return ticket, err
}
