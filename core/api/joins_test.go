package api

import (
	"errors"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

func TestAHostIsJoinedOverTheWireAsInProcess(t *testing.T) {
	s := lab()
	eachSurface(t, s, func(t *testing.T, c *Client) {
		s.err = nil
		wanted := orders.JoinRequest{Host: "mini-1", Fleet: "fleet.linux", Foreground: true}
		ticket, err := c.Join(t.Context(), wanted)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the ticket", s.ticket, ticket)
		same(t, "what was asked for", []any{wanted}, s.heard())
		s.err = &access.ConflictError{Reason: "the host mini-1 is joined"}
		_, err = c.Join(t.Context(), wanted)
		if refused, ok := errors.AsType[*access.ConflictError](err); !ok || refused.Reason != "the host mini-1 is joined" {
			t.Errorf("a refusal came through as %v", err)
		}
	})
}
