package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// The other tests that the specification asks for by name: of images, costs,
// reservations and of jobs that nothing can run.

func TestNoEligibleFleetIsADiagnosticAndMakesNothing(t *testing.T) {
	d := waiting(3)
	d.Requirement.OS = "plan9"
	out := planInput(input{Now: now, Fleets: []fleet.ManagedFleet{burst(0, 4, 0)}, Demand: demand(d)})
	const want = `3 queued jobs that no fleet can run; the nearest is fleet.demo: the jobs require os "plan9", and the class has "linux"`
	if got := stories(
		out,
	); got != "nothing" || len(out.Unplaced) != 1 || !reason.Is[reason.NoEligibleFleet](out.Unplaced[0].Reason) ||
		out.Unplaced[0].Reason.Text() != want {
		t.Errorf("%s, %+v\nwant %s", got, out.Unplaced, want)
	}
}

// Three hosts of an image that isn't the file's any more are told as drift, and are
// replaced one after the other until none is left.
func TestImageDriftIsDetectedAndReplaced(t *testing.T) {
	f := rolled(3, 4, fleet.RolloutPolicy{Surge: 1})
	u := &upgrade{made: 3}
	u.in = input{
		Now:          now,
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    members(f, states(3, fleet.Healthy), nil),
	}
	p := remembered(&u.in, planInput(u.in).Fleets[0])
	if len(p.Drifted) != 3 || p.Drifted[0].Reason != reason.Of(reason.OtherImage{}) {
		t.Fatalf("drifted: %+v", p.Drifted)
	}
	for minute := range 30 {
		p = remembered(&u.in, planInput(u.in).Fleets[0])
		for _, a := range p.Actions {
			if a.Kind != Drain {
				t.Fatalf("%s of %s: a runner leaves after its job", a.Kind, a.Instance)
			}
		}
		u.carryOut(p)
		u.pass(nil, true)
		if p.Counts.Ready < 3 {
			t.Fatalf("in minute %d only %d run", minute, p.Counts.Ready)
		}
	}
	if len(p.Drifted) != 0 || p.Counts.Capacity != 3 {
		t.Errorf("at the end %d are outdated, and %d are there: %s", len(p.Drifted), p.Counts.Capacity, story(p))
	}
}

// Neither demand, nor min, nor a rollout, nor a rollback brings up an image that was
// found to be compromised.
func TestCompromisedImageProvisioningIsBlocked(t *testing.T) {
	quarantined := fleet.Overrides{Quarantines: []fleet.Quarantine{{Image: newImage.Digest, Attribution: ada}}}
	follows := with(burst(0, 4, 0), newImage)
	back := quarantined
	back.Rollouts = []fleet.RolloutOrder{
		{Fleet: follows.ID, Action: fleet.RollBack, From: oldImage, To: newImage, Attribution: ada},
	}
	for name, test := range map[string]struct {
		fleet     fleet.ManagedFleet
		instances []snapshot.Instance
		overrides fleet.Overrides
	}{
		"jobs wait":       {follows, nil, quarantined},
		"min asks for it": {with(sampleFleet(2, 4, 0), newImage), nil, quarantined},
		"a rollout to it": {rolled(3, 5, fleet.RolloutPolicy{Canary: 1, Surge: 1}),
			members(rolled(3, 5, fleet.RolloutPolicy{}), states(3, fleet.Healthy), nil), quarantined},
		"a person's rollback": {with(follows, oldImage), nil, back},
	} {
		p := planInput(
			input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{test.fleet}, Instances: test.instances,
				Demand: demand(waiting(4)), Overrides: test.overrides}).Fleets[0]
		if p.Create != 0 || len(p.Requests) != 0 {
			t.Errorf("%s: %s", name, story(p))
		}
		if len(test.instances) == 0 && !strings.Contains(story(p), "fleet_quarantined") {
			t.Errorf("%s: nothing says why: %s", name, story(p))
		}
	}
}

// What the guardrail leaves no room for waits: it isn't given to a cheaper fleet that
// lacks what the jobs require, nor to hosts that can be taken away.
func TestCostCeilingJobsQueueRatherThanUseAnUnsafeFallback(t *testing.T) {
	proper, spot, plain := burst(0, 9, 0), burst(0, 9, 0), burst(0, 9, 0)
	proper.Class.Trust = "high"
	proper.Cost = fleet.CostPolicy{Hourly: usd(400_000), MaxHourly: usd(500_000)}
	spot.ID, spot.Address, spot.Class.Trust, spot.Lifetime, spot.Cost.Hourly = "f2", "fleet.spot", "high",
		fleet.LifetimePreemptible, usd(
			1,
		)
	plain.ID, plain.Address, plain.Cost.Hourly = "f3", "fleet.plain", usd(1)
	d := waiting(8)
	d.Requirement.Trust = "high"
	out := planInput(input{Now: now, Fleets: []fleet.ManagedFleet{proper, spot, plain}, Demand: demand(d)})
	if got := creates(
		out,
	); len(got) != 1 || got["f1"] != 1 || len(out.Unplaced) != 1 || out.Unplaced[0].Count != 6 ||
		!reason.Is[reason.NoCapacityNow](out.Unplaced[0].Reason) {
		t.Errorf("creates %v, unplaced %+v", got, out.Unplaced)
	}
}

func TestReservationCapacityIsMadeBeforeItsStart(t *testing.T) {
	f := burst(0, 9, 0)
	r := reserve("r1", f, 3, now.Add(10*time.Minute))
	r.LeadTime = 15 * time.Minute
	out := planInput(
		input{
			Now:          now,
			AgentVersion: agentVersion,
			Fleets:       []fleet.ManagedFleet{f},
			Demand:       demand(),
			Overrides:    fleet.Overrides{Reservations: []fleet.CapacityReservation{r}},
		},
	)
	if got := stories(out); got != "create 3" || out.Reservations[0].State != ReservationPrewarming {
		t.Errorf("ten minutes before its start: %s, %s", got, out.Reservations[0].State)
	}
}
