package ci

import (
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/retry"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// unknownRunner is one that a scheduler lists and no instance has. A scheduler that
// was restored from a backup lists again what it had been told to forget, and would
// count on it for ever.
type unknownRunner struct {
	// ended says that it is an ended instance of this installation. Any other name
	// may be another installation's, and is left alone.
	ended bool
	// nextCall delays the next call about it after so many failures.
	nextCall time.Time
	failures int
}

// removeAgain is how long an unknown runner must still be listed after it was removed
// before that is said again: a list may lag.
const removeAgain = 10 * time.Second

// UnsearchedObservation says that there is an observation to search for unknown
// runners.
func (s *Scheduler) UnsearchedObservation() bool {
	return s.Unobservable.IsZero() && s.usage != nil && s.searchedIn != s.observedIn
}

// FindUnknown looks up the listed runners that no instance has, each of them once.
// known are the names by which schedulers know the instances; ended says which of the
// ids are of instances that have ended.
func (s *Scheduler) FindUnknown(
	known map[fleet.SchedulerRunnerRef]bool,
	ended func([]fleet.CapacityInstanceID) ([]fleet.CapacityInstanceID, error),
) error {
	found := map[fleet.SchedulerRunnerRef]*unknownRunner{}
	var fresh []fleet.CapacityInstanceID
	for ref := range s.usage {
		switch before := s.unknown[ref]; {
		case known[ref]:
		case before != nil:
			found[ref] = before
		default:
			found[ref] = &unknownRunner{}
			fresh = append(fresh, fleet.CapacityInstanceID(ref))
		}
	}
	if len(fresh) > 0 {
		slices.Sort(fresh)
		ids, err := ended(fresh)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if u := found[fleet.SchedulerRunnerRef(id)]; u != nil {
				u.ended = true
			}
		}
	}
	s.unknown, s.searchedIn = found, s.observedIn
	return nil
}

// RemoveUnknown are the calls that have the scheduler at an address forget the unknown
// runners that have ended, limit at most. busy says that an id is an instance's again,
// or that a call about it is under way.
func (s *Scheduler) RemoveUnknown(
	address fleet.SchedulerAddress,
	now time.Time,
	busy func(fleet.CapacityInstanceID) bool,
	limit int,
) []Call {
	var calls []Call
	for _, ref := range slices.Sorted(maps.Keys(s.unknown)) {
		u, id := s.unknown[ref], fleet.CapacityInstanceID(ref)
		if !u.ended || !s.Unobservable.IsZero() || u.nextCall.After(now) || len(calls) >= limit || busy(id) {
			continue
		}
		reason := scheduler.RemovedNormally
		if s.usage[ref].Leases > 0 {
			reason = scheduler.RemovedInfrastructure // no one runs what it is shown to have
		}
		calls = append(
			calls,
			Call{
				Scheduler: address,
				Instance:  id,
				Kind:      Remove,
				Known:     scheduler.Known{Name: id, Ref: ref},
				Reason:    reason,
			},
		)
	}
	return calls
}

// UnknownAnswered takes in what the scheduler answered about one that it may not list
// any more.
func (s *Scheduler) UnknownAnswered(id fleet.CapacityInstanceID, failed bool, now time.Time) {
	u := s.unknown[fleet.SchedulerRunnerRef(id)]
	if u == nil {
		return
	}
	if failed {
		u.nextCall = now.Add(retry.Delay(time.Second, u.failures, time.Minute))
		u.failures++
		return
	}
	u.nextCall, u.failures = now.Add(removeAgain), 0
}
