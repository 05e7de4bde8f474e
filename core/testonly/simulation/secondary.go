package simulation

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// addVolume gives a machine a volume, as some have one. It is proven to be the
// machine's by its own tags, by its key, or by a name with the key in it and the
// machine that it says it belongs to.
func (c *cloud) addVolume(of *resource) {
	if c.random.IntN(3) > 0 {
		return
	}
	r := &resource{created: c.w.at, part: true, call: of.call, lag: of.lag, Resource: fleet.Resource{
		ID: fleet.ProviderInstanceRef(
			fmt.Sprintf("volume-of-%s", of.Key),
		),
		Kind:      "volume",
		State:     fleet.ResourceRunning,
		BelongsTo: of.ID,
	}}
	switch {
	case c.facts.Ownership == fleet.OwnershipSigned:
		r.Key, r.Tags = of.Key, of.Tags
	case c.random.IntN(2) == 0:
		r.Key = of.Key
	default:
		// Nothing but the name says whose it is, so it must never be seen alone
		// before its machine was.
		r.call = nil
	}
	c.resources = append(c.resources, r)
}

// dropVolumes removes what belongs to a machine that is gone, unless the provider
// leaves it behind, as some do for ever.
func (c *cloud) dropVolumes(of *resource) {
	for _, r := range c.partsOf(of) {
		if c.w.during(VolumesStay, c.number) {
			c.w.say("cloud %s: %s stays behind", c.address, r.ID)
			continue
		}
		c.remove(r)
	}
}

func (c *cloud) partsOf(of *resource) []*resource {
	var parts []*resource
	for _, r := range c.resources {
		if r.part && r.BelongsTo == of.ID {
			parts = append(parts, r)
		}
	}
	return parts
}

// leftBehind is what has no owner any more, and costs money; "": nothing is.
func (c *cloud) leftBehind() string {
	for _, r := range c.resources {
		if r.copied || r.part && c.byID(r.BelongsTo) == nil {
			return string(r.ID)
		}
	}
	return ""
}

// volumesGoLast: "orphan cleanup requires ownership proof;". A volume
// goes only after its machine; one that had just been made may have been missing
// from the list.
func (w *world) volumesGoLast(target *resource, c *cloud) {
	if target.part && c.byID(target.BelongsTo) != nil && w.at-c.byID(target.BelongsTo).created > time.Minute {
		w.fail(
			"orphan cleanup requires ownership proof",
			"%s is terminated, and %s that it belongs to is there",
			target.ID,
			target.BelongsTo,
		)
	}
}
