package loop

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/retry"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// ghost is a runner that a scheduler lists and no row has. A scheduler that was
// restored from a backup lists again what it had been told to forget, and would
// count on it for ever.
type ghost struct {
	// ours says that it is an ended instance of this installation. Any other name
	// may be another installation's, and is left alone.
	ours bool
	// after delays the next word about it after so many failures.
	after    time.Time
	failures int
}

// forgetAgain is how long a ghost must still be listed after it was removed before
// that is said again: a list may lag.
const forgetAgain = 10 * time.Second

// findGhosts looks up the runners of every new look at a scheduler that no row
// has, each of them once.
func (l *Loop) findGhosts(ctx context.Context, w *work) error {
	for _, s := range l.schedulers {
		if s.blind != "" || s.usage == nil || s.searched == s.looked {
			continue
		}
		had := w.schedulerRefs()
		ghosts := map[fleet.SchedulerRunnerRef]*ghost{}
		var unknown []fleet.CapacityInstanceID
		for ref := range s.usage {
			switch known := s.ghosts[ref]; {
			case had[ref]:
			case known != nil:
				ghosts[ref] = known
			default:
				ghosts[ref] = &ghost{}
				unknown = append(unknown, fleet.CapacityInstanceID(ref))
			}
		}
		if len(unknown) > 0 {
			slices.Sort(unknown)
			recalled, err := l.store.Recall(ctx, nil, unknown)
			if err != nil {
				return err
			}
			for _, r := range recalled {
				if g := ghosts[fleet.SchedulerRunnerRef(r.Instance.ID)]; g != nil {
					g.ours = !r.Instance.Live()
				}
			}
		}
		s.ghosts, s.searched = ghosts, s.looked
	}
	return nil
}

// schedulerRefs are the names by which schedulers know the rows.
func (w *work) schedulerRefs() map[fleet.SchedulerRunnerRef]bool {
	refs := map[fleet.SchedulerRunnerRef]bool{}
	for _, r := range w.rows {
		refs[fleet.SchedulerRunnerRef(r.ID)] = true
		refs[r.Scheduling.Ref] = true
	}
	return refs
}

// tellOfGhosts has the schedulers forget them. under counts the calls under way
// at each.
func (l *Loop) tellOfGhosts(w *work, under map[fleet.SchedulerAddress]int) []Effect {
	var effects []Effect
	for _, address := range slices.Sorted(maps.Keys(l.schedulers)) {
		s := l.schedulers[address]
		for _, ref := range slices.Sorted(maps.Keys(s.ghosts)) {
			g, id := s.ghosts[ref], fleet.CapacityInstanceID(ref)
			_, talking := l.tells[id]
			if !g.ours || talking || w.byID[id] != nil || s.blind != "" || g.after.After(w.now) || under[address] >= tellLimit {
				continue
			}
			under[address]++
			reason := scheduler.RemovedNormally
			if s.usage[ref].Leases > 0 {
				reason = scheduler.RemovedInfrastructure // nobody runs what it is shown to have
			}
			effects = append(effects, Tell{Scheduler: address, Instance: id, What: TellRemove, Known: scheduler.Known{Name: id, Ref: ref}, Reason: reason})
		}
	}
	return effects
}

// toldOfGhost takes in what a scheduler answered about one.
func (l *Loop) toldOfGhost(w *work, e Told) {
	s := l.schedulers[e.Scheduler]
	if s == nil || s.ghosts[fleet.SchedulerRunnerRef(e.Instance)] == nil {
		return // not listed any more
	}
	g := s.ghosts[fleet.SchedulerRunnerRef(e.Instance)]
	if e.Failure != nil && !e.Unknown && !e.Gone {
		g.after = w.now.Add(retry.Delay(time.Second, g.failures, time.Minute))
		g.failures++
		return
	}
	g.after, g.failures = w.now.Add(forgetAgain), 0
}
