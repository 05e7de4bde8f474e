package render

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// Images is a table of images.
func (page Page) Images(images []view.ImageReport) {
	if len(images) == 0 {
		page.Printf("No fleet has an image.\n")
		return
	}
	page.table(
		[]string{"IMAGE", "DIGEST", "STATE", "INSTANCES", "OTHERS", "FLEETS", "BOOTSTRAP", "KNOWN AS"},
		len(images),
		func(n int) []any {
			i := images[n]
			return []any{
				OrDash(i.Name),
				OrDash(ShortDigest(i.Digest)),
				i.State,
				i.Instances,
				i.Others,
				imageFleets(i),
				OrDash(i.Bootstrap),
				imageRefs(i),
			}
		},
	)
}

// ShortDigest is enough of a digest to tell it from another.
func ShortDigest(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

func imageFleets(i view.ImageReport) string {
	var names []string
	for _, f := range i.Fleets {
		names = append(names, string(f.Fleet))
	}
	return strings.Join(names, ", ")
}

// imageRefs are what providers know an image by.
func imageRefs(i view.ImageReport) string {
	var refs []string
	for _, r := range i.Refs {
		refs = append(refs, fmt.Sprintf("%s:%s", r.Provider, r.Ref))
	}
	return OrDash(strings.Join(refs, ", "))
}

// Image shows an image with its state in each fleet.
func (page Page) Image(i view.ImageReport) {
	page.Printf("image.%s   %s\n", OrDash(i.Name), i.State)
	page.Printf("  digest %s, bootstrap %s\n", OrDash(i.Digest), OrDash(i.Bootstrap))
	for _, r := range i.Refs {
		page.Printf("  at %s: %s, id %s\n", r.Provider, OrDash(r.Ref), ShortDigest(string(r.ID)))
	}
	if q := i.Quarantine; q != nil {
		page.Printf(
			"  ! Quarantined by %s on %s. Clear the quarantine with:\n      forgeyard-fleet quarantine %s --clear\n",
			q.By,
			Moment(q.At),
			q.Image,
		)
	}
	for _, f := range i.Fleets {
		page.Printf("  %s: %s; %s it, %d don't\n", f.Fleet, f.State, pluralVerb(f.Instances, "instance", "use"), f.Others)
		if !f.Reason.IsZero() {
			page.reason("      ", "", f.Reason)
		}
	}
}
