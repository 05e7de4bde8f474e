package planner

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// desired is the number of instances that a fleet should have, with the chain
// of bounds that made it. A fleet without a scheduler has no demand: its size
// is what the file says.
func desired(f fleet.ManagedFleet) (int, []fleet.Bound) {
	var bounds []fleet.Bound
	n := 0
	bound := func(name string, after int, format string, args ...any) {
		n = after
		bounds = append(bounds, fleet.Bound{Name: name, After: after, Sentence: sentence(format, args...)})
	}
	bound("demand", 0, "No scheduler is connected, so no job asks for capacity.")
	if f.Operational == fleet.FleetDraining {
		bound("removed", 0, "The fleet is being removed: every runner leaves after its job.")
		return n, bounds
	}
	if w := f.Scaling.Warm; w > 0 {
		bound("warm", n+w, "Keep %s ready for work that may come.", plural(w, "idle runner"))
	}
	if n < f.Scaling.Min {
		bound("min", f.Scaling.Min, "Never fewer than min = %d.", f.Scaling.Min)
	}
	if n > f.Scaling.Max {
		bound("max", f.Scaling.Max, "Never more than max = %d.", f.Scaling.Max)
	}
	return n, bounds
}

// Counts is a fleet's live instances by what they count for. Footprint and
// Capacity are never the same variable: the first is held against max, the
// second against what is wanted.
type Counts struct {
	Footprint    int `json:"footprint"`
	Capacity     int `json:"capacity"`
	Ready        int `json:"ready"`
	Busy         int `json:"busy"`
	Idle         int `json:"idle"`
	Silent       int `json:"silent"`
	Provisioning int `json:"provisioning"`
	Draining     int `json:"draining"`
	Failed       int `json:"failed"`
	Quarantined  int `json:"quarantined"`
	Terminating  int `json:"terminating"`
	// Joining counts claimed hosts that no agent has come from: neither footprint
	// nor capacity.
	Joining int `json:"joining,omitempty"`
}

func count(instances []Instance) Counts {
	var c Counts
	for _, i := range instances {
		if lifecycle.Footprint(i.State) {
			c.Footprint++
		}
		if lifecycle.Capacity(i.State, i.Silent) {
			c.Capacity++
		}
		switch i.State {
		case fleet.Requested, fleet.Provisioning, fleet.Bootstrapping, fleet.Enrolling:
			c.Provisioning++
		case fleet.Healthy:
			c.countHealthy(i)
		case fleet.Draining:
			c.Draining++
		case fleet.Failed:
			c.Failed++
		case fleet.Quarantined:
			c.Quarantined++
		case fleet.Terminating:
			c.Terminating++
		}
	}
	return c
}

func (c *Counts) countHealthy(i Instance) {
	switch {
	case i.Silent:
		c.Silent++
		return
	case i.Busy:
		c.Busy++
	default:
		c.Idle++
	}
	c.Ready++
}

func sentence(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// plural is "1 instance", "2 instances".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// instancesAre is "1 instance is", "2 instances are".
func instancesAre(n int) string {
	if n == 1 {
		return "1 instance is"
	}
	return fmt.Sprintf("%d instances are", n)
}
