package render

import (
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Unrecorded shows each resource with the reason why it isn't touched.
func (page Page) Unrecorded(found []fleet.UnrecordedResource) {
	for _, u := range found {
		page.Printf("  %s: %s %s at %s: %s\n", u.Classification, u.Kind, u.ID, u.Provider, u.Reason)
		page.reason("    ", "", u.Decide)
	}
}
