package planner

import (
	"cmp"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// minimumEnds is until when an instance is paid for whatever becomes of it. Of one
// whose request was never sent nothing is paid.
func minimumEnds(i snapshot.Instance) time.Time {
	if i.Cost.Minimum <= 0 || i.State == fleet.Requested {
		return time.Time{}
	}
	return i.Created.Add(i.Cost.Minimum)
}

// insideMinimum says that an instance is not considered for a scale-down, since it costs
// as much if it leaves: it stays as idle capacity. The removal of its fleet takes it
// all the same, and so do rollouts, age, interruptions and people.
func insideMinimum(in *planning, f fleet.ManagedFleet, i snapshot.Instance) bool {
	return minimumEnds(i).After(in.Now) && f.Operational != fleet.FleetDraining
}

// comparePaid puts first what has the least left of the billing period that is paid
// for already.
func comparePaid(in *planning, a, b *snapshot.Instance) int {
	left := func(i *snapshot.Instance) time.Duration {
		if i.Cost.BillingPeriod <= 0 {
			return 0
		}
		return i.PaidUntil(in.Now).Sub(in.Now)
	}
	return cmp.Compare(left(a), left(b))
}

// paidFor are the instances that stay because they are paid for, and until when the
// first of them does.
type paidFor struct {
	hosts int
	until time.Time
}

func (p *paidFor) add(i snapshot.Instance) {
	if ends := minimumEnds(i); p.hosts == 0 || ends.Before(p.until) {
		p.until = ends
	}
	p.hosts++
}

// addWait says of at most so many of them that they stay.
func (p *paidFor) addWait(plan *FleetPlan, most int) {
	if p.hosts = max(0, min(p.hosts, most)); p.hosts == 0 {
		return
	}
	plan.wait(reason.PaidMinimum{Excess: p.hosts, Desired: plan.Desired, Until: reason.At(p.until)})
}

// keepPaid says how much of the excess of a fleet without a scheduler stays because
// it is paid for. Where demand decides, what is idle for long enough does so itself.
func (p *FleetPlan) keepPaid(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance, excess int) {
	if f.Scheduler != "" {
		return
	}
	var paid paidFor
	others := 0
	for _, i := range instances {
		switch {
		case !lifecycle.Capacity(i.State, i.Silent) || !mayChoose(f, i):
		case insideMinimum(in, f, i):
			paid.add(i)
		default:
			others++
		}
	}
	paid.addWait(p, excess-p.KeptByPin-others)
	p.KeptPaid = paid.hosts
}

// paidTimes are when minimums end.
func paidTimes(instances []snapshot.Instance) (times []time.Time) {
	for _, i := range instances {
		times = append(times, minimumEnds(i))
	}
	return times
}
