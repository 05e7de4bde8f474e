package render

import (
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/keys"
)

// Key shows a key, and what to do with it.
func (page Page) Key(k keys.Key) {
	state := "in use since " + Moment(k.Created)
	if !k.Retired.IsZero() {
		state = "retired since " + Moment(k.Retired)
	}
	page.Printf("%s %s   %s\n", k.Kind, k.ID, state)
	if k.Fingerprint != "" {
		page.Printf("  fingerprint %s\n", k.Fingerprint)
	}
	if k.Retired.IsZero() {
		page.Printf(
			"  %s\n  after a rotation, %s\n  rotate with: %s\n",
			k.Purpose,
			k.Replaces,
			page.Command("key rotate "+k.Kind),
		)
		return
	}
	if len(k.Needed) == 0 {
		page.Printf("  not needed; a running manager deletes it within an hour\n")
	}
	for _, why := range k.Needed {
		page.Printf("  still needed: %s\n", strings.TrimSuffix(why, "."))
	}
}
