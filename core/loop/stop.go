package loop

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Absorb commits the answers among events without planning anything: what an
// ordered stop does while the last calls are answered.
func (l *Loop) Absorb(ctx context.Context, now time.Time, events []Event) error {
	l.backlog = append(l.backlog, events...)
	l.beginStep(now, false)
	w, err := l.load(ctx, now)
	if err != nil {
		return err
	}
	l.applyEvents(w, l.backlog)
	return l.commit(ctx, w)
}

// Abandon marks the calls that no one will hear from any more as unknown. The
// next start would do the same; doing it now shows it to people in between.
func (l *Loop) Abandon(ctx context.Context, now time.Time) error {
	w, err := l.load(ctx, now)
	if err != nil {
		return err
	}
	l.applyEvents(w, l.backlog)
	clear(l.calls)
	clear(l.batches)
	clear(l.schedulerCallsUnderWay)
	l.markUnknown(w, reason.AnswerLost{Stopping: true})
	l.recordAllNeeds(w)
	return l.commit(ctx, w)
}

// markUnknown turns calls without a listener into unknown outcomes (spec §47, §153): those
// of an earlier process, and those whose commit failed after it was stored.
func (l *Loop) markUnknown(w *step, why reason.Detail) {
	for _, r := range w.rows {
		for _, op := range []*fleet.Operation{r.provision, r.terminate} {
			if op == nil {
				continue
			}
			if _, listened := l.calls[op.ID]; op.State == fleet.OperationInProgress && !listened {
				r.edit(op).State = fleet.OperationUnknown
				op.CallOver, op.Reason = time.Time{}, reason.Of(why)
			}
			if op.CallOver.After(w.now) { // the clock was set back
				r.edit(op).CallOver = w.now
			}
		}
	}
}

func (l *Loop) load(ctx context.Context, now time.Time) (*step, error) {
	state, err := l.store.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("loop: load the state: %w", err)
	}
	w := newStep(now, state)
	w.backoffs, w.circuits = maps.Clone(l.backoffs), l.circuits.Clone()
	return w, nil
}

// commit writes what changed. Until it succeeds the events stay in the backlog.
func (l *Loop) commit(ctx context.Context, w *step) error {
	w.hitFailpoints(uncommitted)
	if err := l.store.Commit(ctx, w.change()); err != nil {
		return fmt.Errorf("loop: commit the step: %w", err)
	}
	w.hitFailpoints(committed)
	l.backlog, l.backoffs, l.circuits = nil, w.backoffs, w.circuits
	l.markNeedsStored(w)
	return nil
}
