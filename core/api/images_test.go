package api

import (
	"errors"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestImagesAndWordsAboutRolloutsComeThroughAsTheyWereSent(t *testing.T) {
	s := lab()
	words := []control.RolloutRequest{
		{Subject: `fleet.each["a/b"]`, Action: fleet.ResumeRollout, SkipSoak: true, Reason: "it is fine"},
		{Subject: "linux", Action: fleet.PauseRollout},
		{Subject: "image.ubuntu-24", Action: fleet.RollBack, Reason: "incident 12"},
		{Subject: "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", Action: fleet.ResumeRollout},
	}
	eachSurface(t, s, func(t *testing.T, c *Client) {
		for _, r := range words {
			receipt, err := c.OrderRollout(t.Context(), r)
			if err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			same(t, "the word", []any{r}, s.heard())
			same(t, "the receipt", rolledBack, receipt)
		}
		images, err := c.Images(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the images", ubuntu, images[0])
	})
}

func TestAWordAboutNoRolloutIsNotSent(t *testing.T) {
	c := dial(t, onSocket(t, handler(lab(), nil)))
	if _, err := c.OrderRollout(t.Context(), control.RolloutRequest{Action: fleet.RollBack}); !errors.As(err, new(*access.NotFoundError)) {
		t.Error(err)
	}
	if _, err := c.OrderRollout(t.Context(), control.RolloutRequest{Subject: "linux", Action: "dance"}); !errors.As(err, new(*access.InvalidError)) {
		t.Error(err)
	}
}
