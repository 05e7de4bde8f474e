package simulation

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// Each of these errors was made by somebody in this field. They are planted around
// the loop, not in it, and the simulation must see every one of them.

// caught runs seeds until one of them sees what is planted, and expects it to be
// seen as one of the named invariants. The seed that is known to see it is tried
// before all others.
func caught(t *testing.T, known uint64, double func() Double, invariants ...string) {
	t.Helper()
	if r := Run(
		Options{Seed: known, Double: double()},
	); r.Failure != nil &&
		slices.Contains(invariants, r.Failure.Invariant) {
		t.Logf("seen by seed %d, after %s: %s: %s", r.Seed, r.Failure.At, r.Failure.Invariant, r.Failure.Detail)
		return
	}
	var mutex sync.Mutex
	var found *Report
	each(2000, func(seed uint64) bool {
		r := Run(Options{Seed: seed, Double: double()})
		if r.Failure == nil || !slices.Contains(invariants, r.Failure.Invariant) {
			return false
		}
		mutex.Lock()
		defer mutex.Unlock()
		if found == nil || r.Seed < found.Seed {
			found = &r
		}
		return true
	})
	if found == nil {
		t.Fatal("2,000 seeds don't see it")
	}
	t.Logf(
		"seen by seed %d, after %s: %s: %s",
		found.Seed,
		found.Failure.At,
		found.Failure.Invariant,
		found.Failure.Detail,
	)
}

// planning plants a wrong planner.
func planning(plan func(snapshot.Snapshot) planner.Output) func() Double {
	return func() Double { return Double{Plan: plan} }
}

func TestBootingThatIsNotCountedIsSeen(t *testing.T) {
	caught(t, 0, planning(func(in snapshot.Snapshot) planner.Output {
		in.Instances = slices.DeleteFunc(slices.Clone(in.Instances), func(i fleet.CapacityInstance) bool {
			return i.State == fleet.Provisioning || i.State == fleet.Bootstrapping || i.State == fleet.Enrolling
		})
		return planner.Plan(in)
	}), "min/max/warm bounds are enforced", "scale-up and scale-down don't thrash")
}

func TestMaxThatEachCreatorChecksForItselfIsSeen(t *testing.T) {
	caught(t, 0, planning(doubled), "min/max/warm bounds are enforced")
}

// doubled is two creators, each of which makes what is missing.
func doubled(in snapshot.Snapshot) planner.Output {
	out := planner.Plan(in)
	for n := range out.Fleets {
		out.Fleets[n].Create *= 2
	}
	return out
}

func TestADrainDeadlineThatEndsJobsIsSeen(t *testing.T) {
	caught(t, 14, planning(func(in snapshot.Snapshot) planner.Output {
		out := planner.Plan(in)
		for _, i := range in.Instances {
			if i.State == fleet.Draining && in.Now.Sub(i.Since) > 10*time.Second {
				n := slices.IndexFunc(out.Fleets, func(p planner.FleetPlan) bool { return p.Fleet == i.Fleet })
				out.Fleets[n].Actions = append(
					out.Fleets[n].Actions,
					planner.Action{
						Kind:     planner.Withdraw,
						Instance: i.ID,
						Cause:    lifecycle.IdleProven,
						Reason:   reason.Plain("The drain took too long."),
					},
				)
			}
		}
		return out
	}), "normal scale-down drains first")
}

func TestDeadRowsThatCountAsCapacityAreSeen(t *testing.T) {
	caught(t, 31, planning(func(in snapshot.Snapshot) planner.Output {
		in.Instances, in.Usage = slices.Clone(in.Instances), maps.Clone(in.Usage)
		for n, i := range in.Instances {
			if i.State == fleet.Failed || i.State == fleet.Quarantined || i.State == fleet.Terminating {
				in.Instances[n].State = fleet.Provisioning
				delete(in.Usage, i.ID)
			}
		}
		return planner.Plan(in)
	}), "dead rows block no demand")
}

func TestAFailedListThatIsReadAsEmptyIsSeen(t *testing.T) {
	caught(t, 32, func() Double {
		return Double{Event: func(e loop.Event, _ map[fleet.CapacityInstanceID]fleet.Runner) loop.Event {
			if i, ok := e.(loop.Inspected); ok && i.Failure != nil {
				i.Failure, i.Inspection = nil, fleet.Inspection{Complete: true}
				return i
			}
			return e
		}}
	}, "what is called gone is gone", "one instance is one machine")
}

func TestAFreshKeyForARetryIsSeen(t *testing.T) {
	caught(t, 83, func() Double {
		return Double{Effects: func(r loop.Result) []loop.Effect {
			effects := slices.Clone(r.Effects)
			for n, e := range effects {
				if p, ok := e.(loop.Provision); ok && p.Operation.Attempts > 1 {
					tags := map[string]string{}
					for name, value := range p.Intent.Tags {
						tags[name] = value
					}
					tags["forgeyard-key"] += "-again"
					p.Intent.Tags = tags
					effects[n] = p
				}
			}
			return effects
		}}
	}, "one instance is one machine")
}

func TestADeleteWithoutProofIsSeen(t *testing.T) {
	caught(t, 11, func() Double {
		return Double{Effects: func(r loop.Result) []loop.Effect {
			effects := slices.Clone(r.Effects)
			for _, address := range []fleet.ProviderAddress{"east.here", "west.here"} {
				for _, u := range r.Observations.Unrecorded[address].Resources {
					effects = append(effects, loop.Terminate{Provider: address, Operation: "cleanup", Resource: u.ID, Key: u.Key})
				}
			}
			return effects
		}}
	}, "unknown provider resources are not blindly deleted")
}

// earlySettle is a store that says of a call that it was over when it began.
type earlySettle struct {
	loop.Store
	now   func() time.Time
	began map[fleet.OperationID]time.Time
}

func (s *earlySettle) Commit(ctx context.Context, c store.Change) error {
	for _, op := range c.Operations {
		if op.State == fleet.OperationInProgress {
			s.began[op.ID] = s.now()
		}
	}
	return s.Store.Commit(ctx, c)
}

func (s *earlySettle) Load(ctx context.Context) (snapshot.State, error) {
	state, err := s.Store.Load(ctx)
	for n, op := range state.Operations {
		if began, ok := s.began[op.ID]; ok && !op.CallOver.IsZero() {
			state.Operations[n].CallOver = began
		}
	}
	return state, err
}

func TestASettleTimeFromTheStartOfTheCallIsSeen(t *testing.T) {
	caught(t, 100, func() Double {
		return Double{Store: func(s loop.Store, now func() time.Time) loop.Store {
			return &earlySettle{s, now, map[fleet.OperationID]time.Time{}}
		}}
	}, "one instance is one machine", "what is called gone is gone")
}

// credulous is a store in which runners that fell silent together didn't.
type credulous struct {
	loop.Store
	now func() time.Time
}

func (s credulous) Load(ctx context.Context) (snapshot.State, error) {
	state, err := s.Store.Load(ctx)
	for n, r := range state.Runners {
		if s.now().Sub(r.LastBeat) > 30*time.Second {
			state.Runners[n].LastBeat = r.LastBeat.Add(-time.Duration(n) * time.Minute)
		}
	}
	return state, err
}

func TestSilenceOfAllThatIsReadAsDeathIsSeen(t *testing.T) {
	caught(t, 8, func() Double {
		return Double{Store: func(s loop.Store, now func() time.Time) loop.Store { return credulous{s, now} }}
	}, "mass silence ends no runner")
}

func TestRequestsForWhereThereIsNoRoomAreSeen(t *testing.T) {
	caught(t, 16, planning(func(in snapshot.Snapshot) planner.Output {
		in.Circuits = nil
		return planner.Plan(in)
	}), "no request is made for where there is no room")
}

// telling plants something into the words to the scheduler.
func telling(change func(*loop.CallScheduler)) func() Double {
	return func() Double {
		return Double{Effects: func(r loop.Result) []loop.Effect {
			effects := slices.Clone(r.Effects)
			for n, e := range effects {
				if t, ok := e.(loop.CallScheduler); ok {
					change(&t)
					effects[n] = t
				}
			}
			return effects
		}}
	}
}

func TestADrainThatTakesJobsAwayIsSeen(t *testing.T) {
	caught(
		t,
		0,
		telling(func(e *loop.CallScheduler) { e.Force = e.Kind == ci.Cordon }),
		"no leased machine ends but for section 35",
	)
}

func TestAPreemptionThatIsCalledANormalEndIsSeen(t *testing.T) {
	caught(t, 76, telling(func(e *loop.CallScheduler) {
		if e.Kind == ci.Remove {
			e.Reason = "normal"
		}
	}), "spot preemption is infrastructure failure")
}
