package api

import (
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/ordertest"
)

func TestImagesAndRolloutsComeThroughAsSent(t *testing.T) {
	s := lab()
	words := []any{
		orders.ResumeRequest{Subject: `fleet.each["a/b"]`, SkipSoak: true, Reason: "it is fine"},
		ordertest.Paused{RolloutRequest: orders.RolloutRequest{Subject: "linux", Reason: "wait"}},
		ordertest.RolledBack{RolloutRequest: orders.RolloutRequest{Subject: "image.ubuntu-24", Reason: "incident 12"}},
		orders.ResumeRequest{Subject: "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"},
	}
	eachSurface(t, s, func(t *testing.T, c *Client) {
		for _, r := range words {
			receipt, err := ordertest.Give(t.Context(), c.Orders(), r)
			if err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			same(t, "the order", []any{r}, s.heard())
			same(t, "the receipt", any(rolledBack), receipt)
		}
		images, err := c.Images(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the images", ubuntu, images[0])
	})
}
