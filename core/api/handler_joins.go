package api

import (
	"context"
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// NewJoin asks for the command that joins a host.
type NewJoin struct {
	Host       string `json:"host" minLength:"1" maxLength:"253" doc:"A host of an applied inventory."`
	Fleet      string `json:"fleet,omitempty" maxLength:"512" doc:"The fleet's address or name; none: the one fleet that can take the host."`
	Foreground bool   `json:"foreground,omitempty" doc:"Whether the agent runs in the shell that the command is pasted into."`
}

func (h *Handler) addJoins() {
	type joinInput struct{ Body NewJoin }
	add(h, route{id: "join", method: http.MethodPost, path: "/v1/joins", useCase: "token join", tag: "tokens", status: http.StatusCreated,
		summary: "Claim a host and make the command that joins it",
		about:   "The command holds a token: it is secret, good once and for 24 hours. For a host that waits to be joined a new command is made, and the one before is void, so whoever lost the answer asks again. A host that is joined is a problem 409."},
		func(ctx context.Context, in *joinInput) (*body[orders.JoinTicket], error) {
			ticket, err := h.service.Join(ctx, orders.JoinRequest{Host: in.Body.Host, Fleet: in.Body.Fleet, Foreground: in.Body.Foreground})
			return &body[orders.JoinTicket]{ticket}, err
		})
}

// Join is installation.Service's.
func (c *Client) Join(ctx context.Context, r orders.JoinRequest) (orders.JoinTicket, error) {
	var ticket orders.JoinTicket
	err := c.call(ctx, call{method: http.MethodPost, path: "/v1/joins", send: NewJoin{r.Host, r.Fleet, r.Foreground}, into: &ticket})
	return ticket, err
}
