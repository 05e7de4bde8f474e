package loop

import (
	"context"
	"maps"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// findUnknownRunners looks up the runners of every new observation of a scheduler that
// no row has.
func (l *Loop) findUnknownRunners(ctx context.Context, w *step) error {
	for _, s := range l.schedulers {
		if !s.UnsearchedObservation() {
			continue
		}
		err := s.FindUnknown(
			w.schedulerRefs(),
			func(ids []fleet.CapacityInstanceID) (ended []fleet.CapacityInstanceID, err error) {
				recalled, err := l.store.Recall(ctx, nil, ids)
				for _, r := range recalled {
					if !r.Instance.Live() {
						ended = append(ended, r.Instance.ID)
					}
				}
				return ended, err
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// schedulerRefs are the names by which schedulers know the rows.
func (w *step) schedulerRefs() map[fleet.SchedulerRunnerRef]bool {
	refs := map[fleet.SchedulerRunnerRef]bool{}
	for _, r := range w.rows {
		refs[fleet.SchedulerRunnerRef(r.ID)] = true
		refs[r.Scheduling.Ref] = true
	}
	return refs
}

// removeUnknownRunners has the schedulers forget them. underWay counts the calls under
// way at each.
func (l *Loop) removeUnknownRunners(w *step, underWay map[fleet.SchedulerAddress]int) []Effect {
	busy := func(id fleet.CapacityInstanceID) bool {
		_, calling := l.schedulerCallsUnderWay[id]
		return calling || w.byID[id] != nil
	}
	var effects []Effect
	for _, address := range slices.Sorted(maps.Keys(l.schedulers)) {
		for _, call := range l.schedulers[address].RemoveUnknown(address, w.now, busy, ci.MaxCalls-underWay[address]) {
			effects = append(effects, CallScheduler{call})
		}
	}
	return effects
}
