package planner

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// A host of 4 cpu and 2 slots with one lease seems to have 2 cpu left. That its job
// takes 3 is seen only by what keeps waiting.
func TestJobsWaitingBesideFreeCapacityGetNewInstance(t *testing.T) {
	f := burst(0, 4, 0)
	host := func(since time.Duration, leases int, state fleet.CapacityInstanceState) snapshot.Instance {
		i := instance(f, 1, state)
		i.Created, i.Since, i.Leases, i.Busy = now.Add(-time.Hour), now.Add(-since), leases, leases > 0
		return i
	}
	group := func(waits time.Duration, count, admissible int) fleet.QueuedDemand {
		g := waiting(count)
		g.Resources.CPUMilli, g.OldestWait, g.Admissible = 2000, waits, admissible
		return g
	}
	for _, test := range []struct {
		name string
		host snapshot.Instance
		jobs fleet.QueuedDemand
		want int
	}{
		{"a job that has just come may find room there", host(time.Hour, 1, fleet.Healthy), group(9*time.Second, 1, 1), 0},
		{"one that has waited has found none", host(time.Hour, 1, fleet.Healthy), group(10*time.Second, 1, 1), 1},
		{"a host that has just begun to take jobs is still being filled", host(9*time.Second, 1, fleet.Healthy),
			group(time.Minute, 1, 1), 0},
		{"an idle host has the room that it says", host(time.Hour, 0, fleet.Healthy), group(time.Minute, 2, 2), 0},
		{"a booting host is waited for", host(time.Minute, 0, fleet.Bootstrapping), group(time.Minute, 2, 2), 0},
		{"a group that a quota blocks waits for that", host(time.Hour, 1, fleet.Healthy), group(time.Minute, 2, 1), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := planInput(
				input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f},
					Instances: []snapshot.Instance{test.host}, Demand: demand(test.jobs)}).Fleets[0]
			if p.Create != test.want {
				t.Errorf("it makes %d hosts, want %d: %+v", p.Create, test.want, p.Bounds)
			}
		})
	}
}

// Nothing else wakes the loop for it: the scheduler says the same as before.
func TestThePlanIsLookedAtAgainWhenAHostHasTakenJobsForLongEnough(t *testing.T) {
	f := burst(0, 4, 0)
	host := instance(f, 1, fleet.Healthy)
	host.Created, host.Since, host.Leases, host.Busy = now.Add(-time.Minute), now.Add(-4*time.Second), 1, true
	waits, sums := waiting(1), waiting(0)
	waits.OldestWait, sums.Unlisted = time.Minute, &fleet.UnlistedUsage{Usable: 1}
	for name, test := range map[string]struct {
		jobs []fleet.QueuedDemand
		next time.Time
	}{
		"a job waits beside it":              {[]fleet.QueuedDemand{waits}, now.Add(6 * time.Second)},
		"its scheduler gives only sums":      {[]fleet.QueuedDemand{sums}, now.Add(116 * time.Second)},
		"nothing is to be concluded from it": {nil, time.Time{}},
	} {
		in := input{
			Now:          now,
			AgentVersion: agentVersion,
			Fleets:       []fleet.ManagedFleet{f},
			Instances:    []snapshot.Instance{host},
			Demand:       demand(test.jobs...),
		}
		if p := planInput(in).Fleets[0]; !p.Next.Equal(test.next) || p.Create != 0 {
			t.Errorf("%s: %s, and the next look is at %s; want %s", name, story(p), p.Next, test.next)
		}
	}
	in := input{
		Now:          now.Add(6 * time.Second),
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    []snapshot.Instance{host},
		Demand:       demand(waits),
	}
	if p := planInput(in).Fleets[0]; p.Create != 1 {
		t.Errorf("at that time: %s", story(p))
	}
}
