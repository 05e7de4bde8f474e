package planner

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/schedule"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// WarmChange is how many idle runners a fleet keeps from a time on, since one of
// its schedules begins or ends then.
type WarmChange struct {
	At   time.Time `json:"at"`
	Warm int       `json:"warm"`
	// Schedule is whose number that is; empty: that of the scaling block.
	Schedule string `json:"schedule,omitempty"`
	// Reason says it for people.
	Reason reason.Reason `json:"reason"`
}

// warmth is how many idle runners a fleet keeps at a moment (spec §16, §122).
//
// While a schedule is open its number counts in the place of the scaling block's,
// whether it is larger or smaller: as a floor, the block's would leave no way to
// keep fewer at night. Of several that are open the largest number counts, so that
// a schedule for a busy day never takes away what another one promises. What must
// be there always is min.
type warmth struct {
	warm int
	// by is the schedule whose number it is; nil: the scaling block's.
	by *fleet.ScalingSchedule
	// until is when another number counts, or the same one for another reason;
	// zero: not for a long time.
	until time.Time
	// clock is that of the schedule.
	clock *time.Location
	// unread are the schedules that make no sense; config takes none that doesn't.
	unread []string
}

// openSchedule is a schedule with how it stands.
type openSchedule struct {
	*fleet.ScalingSchedule
	schedule.Window
	clock *time.Location
}

func warmAt(f fleet.ManagedFleet, now time.Time) warmth {
	w := warmth{warm: f.Scaling.Warm}
	var open, closed []openSchedule
	for n := range f.Scaling.Schedules {
		s := &f.Scaling.Schedules[n]
		calendar, err := schedule.Read(s.Cron, s.TimeZone)
		if err != nil {
			w.unread = append(w.unread, s.Name)
			continue
		}
		if at := (openSchedule{s, calendar.At(now, s.Duration), calendar.Zone()}); at.Open {
			open = append(open, at)
		} else {
			closed = append(closed, at)
		}
	}
	if len(open) > 0 {
		governs := slices.MaxFunc(open, func(a, b openSchedule) int {
			return cmp.Or(cmp.Compare(a.Warm, b.Warm), lasts(a.Changes, b.Changes), cmp.Compare(b.Name, a.Name))
		})
		w.warm, w.by, w.until, w.clock = governs.Warm, governs.ScalingSchedule, governs.Changes, governs.clock
	}
	for _, s := range closed {
		if w.by != nil && s.Warm <= w.warm {
			continue // it changes nothing while the other one is open
		}
		if !s.Changes.IsZero() && (w.until.IsZero() || s.Changes.Before(w.until)) {
			w.until = s.Changes
		}
	}
	return w
}

// lasts compares two ends; one that isn't in sight is the later one.
func lasts(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return compareBool(a.IsZero(), b.IsZero())
	}
	return a.Compare(b)
}

// why is what is kept, and until when and why where a schedule says so.
func (w warmth) why() reason.Detail {
	if w.by == nil {
		return reason.KeepWarm{Idle: w.warm}
	}
	return reason.KeepWarm{Idle: w.warm, Schedule: w.by.Name, Until: onClock(w.until, w.clock)}
}

// next is what is kept once that changes; nil: it doesn't for a long time, or the
// number stays what it is.
func (w warmth) next(f fleet.ManagedFleet, now time.Time) *WarmChange {
	if w.until.IsZero() {
		return nil
	}
	then := warmAt(f, w.until)
	if then.warm == w.warm {
		return nil
	}
	change := &WarmChange{At: w.until, Warm: then.warm}
	clock := w.clock // that of the person who makes the change
	if then.by != nil {
		clock, change.Schedule = then.clock, then.by.Name
	}
	change.Reason = reason.Of(reason.WarmChanges{At: onClock(w.until, clock), Idle: then.warm, Schedule: change.Schedule})
	return change
}

// onClock is a moment on a zone's clock; none where it is zero.
func onClock(at time.Time, clock *time.Location) reason.LocalTime {
	if at.IsZero() {
		return reason.LocalTime{}
	}
	return reason.Local(at.In(clock))
}

// warms says whether a fleet keeps idle runners at all: not where a person brings
// its hosts, nor where it leaves.
func warms(f fleet.ManagedFleet) bool { return !f.Joined && f.Operational != fleet.FleetDraining }

// keepWarm is the link of the chain that adds idle runners to n.
func (in *planning) keepWarm(f fleet.ManagedFleet, n int, bound addBound) {
	w := in.warm[f.ID]
	for _, name := range w.unread {
		bound("warm", n, reason.ScheduleInvalid{Schedule: name})
	}
	if w.warm > 0 || w.by != nil {
		bound("warm", n+w.warm, w.why())
	}
}

// scheduled notes in the plan what the schedules of a fleet make of it.
func (p *FleetPlan) scheduled(in *planning, f fleet.ManagedFleet) {
	p.Warm = f.Scaling.Warm
	if w, keeps := in.warm[f.ID]; keeps {
		p.Warm, p.NextWarm = w.warm, w.next(f, in.Now)
	}
}

// warmths are those of the fleets that keep idle runners.
func warmths(in *planning) map[fleet.RunnerFleetID]warmth {
	all := make(map[fleet.RunnerFleetID]warmth, len(in.fleets))
	for _, f := range in.fleets {
		if warms(f) {
			all[f.ID] = warmAt(f, in.Now)
		}
	}
	return all
}
