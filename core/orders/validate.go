package orders

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// validation is what an order is checked against.
type validation struct {
	state   snapshot.State
	caller  access.Caller
	useCase string
	decided fleet.Attribution
	// instance finds the one that an order is about.
	instance func(fleet.CapacityInstanceID) (fleet.CapacityInstance, fleet.FleetAddress, error)
}

// fleet finds the fleet of an address, a name or an id. What is in others than the
// caller's isn't there.
func (v *validation) fleet(wanted string) (fleet.ManagedFleet, error) {
	for _, f := range v.state.Fleets {
		if (named(f, wanted) || string(f.ID) == wanted) && v.caller.MayTouch(f.Address) {
			return f, nil
		}
	}
	return fleet.ManagedFleet{}, &access.NotFoundError{Kind: "fleet", ID: wanted}
}

// unlimited refuses callers who are limited to fleets: providers and images are
// of them all.
func (v *validation) unlimited(what string) error {
	if len(v.caller.Fleets) > 0 {
		return &access.DeniedError{Caller: v.caller.Name, UseCase: v.useCase + " of", Fleet: fleet.FleetAddress(what)}
	}
	return nil
}

// until is when something that lasts for d ends.
func (v *validation) until(d, longest time.Duration) (time.Time, error) {
	if d <= 0 || d > longest {
		return time.Time{}, access.Invalid("invalid duration %s: use 0 < for ≤ %dd; for a permanent change, edit the file",
			d, longest/(24*time.Hour))
	}
	return v.decided.At.Add(d), nil
}

// provider checks that there is a provider of an address, and that the caller may
// decide about it.
func (v *validation) provider(address fleet.ProviderAddress) error {
	if err := v.unlimited("provider." + string(address)); err != nil {
		return err
	}
	var names []string
	for _, p := range v.state.Providers {
		names = append(names, string(p.Address))
	}
	if !slices.Contains(names, string(address)) {
		return access.Invalid("unknown provider %q; applied providers: %s", address, orNone(names))
	}
	return nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

var imageDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// image is the declared digest that is meant: itself, or what image.NAME is called
// now. A name may be another image's tomorrow, so what is kept is the digest.
func (v *validation) image(wanted string) (string, error) {
	if imageDigest.MatchString(wanted) {
		return wanted, nil
	}
	name, isName := strings.CutPrefix(wanted, "image.")
	var names, digests []string
	for _, f := range v.state.Fleets {
		if f.Image.Digest == "" {
			continue
		}
		if names = append(names, "image."+f.Image.Name); isName && f.Image.Name == name {
			digests = append(digests, f.Image.Digest)
		}
	}
	slices.Sort(digests)
	switch digests = slices.Compact(digests); len(digests) {
	case 0:
		if len(names) == 0 {
			return "", access.Invalid("unknown image %q: no fleet's image has a digest; give a digest (sha256:…)", wanted)
		}
		return "", access.Invalid("unknown image %q: give a digest (sha256:…), or one of: %s", wanted, listed(names))
	case 1:
		return digests[0], nil
	}
	return "", access.Invalid("image %q has several digests; give one of: %s", wanted, listed(digests))
}

// ofFleet says that an instance is of a fleet.
func ofFleet(i fleet.CapacityInstance, address fleet.FleetAddress) string {
	return fmt.Sprintf("instance %s of %s", i.ID, address)
}
