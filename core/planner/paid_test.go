package planner

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// made is an idle host of a fleet that was made some time ago.
func made(f fleet.ManagedFleet, n int, ago, minimum, period time.Duration) snapshot.Instance {
	i := instance(f, n, fleet.Healthy)
	i.Created, i.IdleSince = now.Add(-ago), now.Add(-ago)
	i.Cost = fleet.InstanceCost{Minimum: minimum, BillingPeriod: period}
	return i
}

func TestAHostWhoseMinimumIsPaidForIsNoChoiceForAScaleDown(t *testing.T) {
	day, hour := 24*time.Hour, time.Hour
	follows, fixed, removed := burst(0, 4, 0), sampleFleet(0, 4, 0), sampleFleet(0, 4, 0)
	removed.Operational = fleet.FleetDraining
	outdated := made(sampleFleet(1, 4, 0), 0, hour, day, 0)
	outdated.InstanceDigest = "sha256:old"
	aged := burst(1, 4, 0)
	aged.Runner.MaxAge = time.Minute
	booting, unsent := made(fixed, 0, time.Minute, day, 0), made(fixed, 0, time.Minute, day, 0)
	booting.State, unsent.State = fleet.Bootstrapping, fleet.Requested
	for _, test := range []struct {
		name      string
		fleet     fleet.ManagedFleet
		instances []snapshot.Instance
		want      string
		says      string
		next      time.Time
	}{
		{"idle for long", follows, []snapshot.Instance{made(follows, 0, hour, day, 0)}, "paid_minimum",
			"1 instance above the desired 0: kept idle, paid for until 2026-11-30 11:00 UTC", now.Add(23 * hour)},
		{"the minimum is over in this moment", follows, []snapshot.Instance{made(follows, 0, day, day, 0)},
			"drain i00 (scale_down)", "", time.Time{}},
		{"the other one leaves", follows,
			[]snapshot.Instance{made(follows, 0, 2*hour, 3*hour, 0), made(follows, 1, 2*hour, hour, 0)},
			"drain i01 (scale_down), paid_minimum",
			"1 instance above the desired 0: kept idle, paid for until 2026-11-29 13:00 UTC", now.Add(hour)},
		{"a fixed size keeps them, too", fixed,
			[]snapshot.Instance{made(fixed, 0, hour, day, 0), made(fixed, 1, 2*hour, day, 0), made(fixed, 2, hour, 0, 0)},
			"drain i02 (scale_down), paid_minimum",
			"2 instances above the desired 0: kept idle, paid for, the first until 2026-11-30 10:00 UTC", now.Add(22 * hour)},
		{"what boots is paid for", fixed, []snapshot.Instance{booting}, "paid_minimum", "", now.Add(day - time.Minute)},
		{"what was never sent isn't", fixed, []snapshot.Instance{unsent}, "cancel i00 (cancelled)", "", time.Time{}},
		{"the removal of its fleet doesn't care", removed, []snapshot.Instance{made(removed, 0, hour, day, 0)},
			"drain i00 (operator)", "", now.Add(23 * hour)},
		{"a rollout doesn't care", sampleFleet(1, 4, 0), []snapshot.Instance{outdated}, "drain i00 (rollout)", "",
			now.Add(23 * hour)},
		{"max_age doesn't care", aged, []snapshot.Instance{made(aged, 0, hour, day, 0)}, "create 1, drain i00 (max_age)", "",
			now.Add(23 * hour)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := planInput(
				input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{test.fleet}, Instances: test.instances,
					Demand: demand()}).Fleets[0]
			said := ""
			for _, w := range p.Waiting {
				if reason.Is[reason.PaidMinimum](w) {
					said = w.Text()
				}
			}
			if story(p) != test.want || test.says != "" && said != test.says || !p.Next.Equal(test.next) {
				t.Errorf("%s: %q, next %s; want %s: %q, %s", story(p), said, p.Next, test.want, test.says, test.next)
			}
			if paid := test.want == "paid_minimum"; paid && !p.Reached() {
				t.Error("apply would wait for a minimum to end")
			}
		})
	}
}

func TestOfTwoThatCouldLeaveTheOneGoesWhoseBillingPeriodEndsFirst(t *testing.T) {
	for name, f := range map[string]fleet.ManagedFleet{"follows demand": burst(1, 4, 0), "fixed": sampleFleet(1, 4, 0)} {
		// The newest would go first if all were paid by the second.
		all := []snapshot.Instance{
			made(f, 0, 110*time.Minute, 0, time.Hour),
			made(f, 1, 95*time.Minute, 0, time.Hour),
			made(f, 2, 65*time.Minute, 0, time.Hour),
		}
		f.Scaling.Min = 2
		p := planInput(
			input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f}, Instances: all,
				Demand: demand()}).Fleets[0]
		if got := story(p); got != "drain i00 (scale_down)" {
			t.Errorf("%s: %s", name, got)
		}
		all[0].Busy, all[0].Leases = true, 1
		if p := planInput(
			input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f}, Instances: all,
				Demand: demand()}).Fleets[0]; len(
			p.Actions,
		) != 1 ||
			p.Actions[0].Instance != "i01" ||
			p.Actions[0].Cause != lifecycle.ForScaleDown {
			t.Errorf("%s, and it is busy: %s", name, story(p))
		}
	}
}
