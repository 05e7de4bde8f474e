package loop

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// need is what is known of how many runners a fleet with a forecast needs.
type need struct {
	recorder   *forecast.Recorder
	prediction forecast.Prediction
	// lead is how long its hosts take from the decision until their agent is there;
	// zero: none has come yet.
	lead time.Duration
	// due are the runs that this step stores.
	due []forecast.Run
}

// updateForecasts has the models of the fleets say what will be needed, once for each of
// their buckets. Nothing but advice comes of it: where the history can't be read,
// the fleet goes by what is needed now, and the next step tries again.
func (l *Loop) updateForecasts(ctx context.Context, w *step) {
	w.forecasts = map[fleet.RunnerFleetID]forecast.Prediction{}
	maps.DeleteFunc(l.needs, func(id fleet.RunnerFleetID, _ *need) bool { return !forecasts(w.fleets[id]) })
	var unknown []fleet.RunnerFleetID
	for id, f := range w.fleets {
		if forecasts(f) && l.needs[id] == nil {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		l.recallNeeds(ctx, w, unknown)
	}
	for id, n := range l.needs {
		f := w.fleets[id].Forecast
		begins := n.prediction.Changes.Add(-forecast.Bucket)
		if n.prediction.Forecast != f || w.now.Before(begins) || !w.now.Before(n.prediction.Changes) {
			n.recorder.Close(w.now)
			n.prediction = n.recorder.Predict(f, w.now, n.leadNow(w, id))
		}
		w.forecasts[id] = n.prediction
	}
}

// forecasts says that somebody may want to know what the fleet will need.
func forecasts(f fleet.ManagedFleet) bool {
	return f.Forecast != (fleet.Forecast{}) && f.Scheduler != "" && f.Operational != fleet.FleetDraining
}

// recallNeeds begins to take down what fleets need, from where the store ends.
func (l *Loop) recallNeeds(ctx context.Context, w *step, ids []fleet.RunnerFleetID) {
	var stored map[fleet.RunnerFleetID][]forecast.Run
	if l.settings.Needed != nil {
		var err error
		if stored, err = l.settings.Needed(ctx, ids); err != nil {
			for _, id := range ids {
				w.forecasts[id] = forecast.Prediction{
					Forecast: w.fleets[id].Forecast,
					NoEffect: reason.Of(reason.ForecastHistoryUnreadable{Message: err.Error()}),
				}
			}
			return
		}
	}
	for _, id := range ids {
		l.needs[id] = &need{recorder: forecast.NewRecorder(stored[id], w.now)}
	}
}

// leadNow is how long a fleet's hosts take until their agent is there, as the middle
// one of them did: so far ahead it must be known what is needed. A fleet that has
// none now goes by those it had last.
func (n *need) leadNow(w *step, id fleet.RunnerFleetID) time.Duration {
	var took []time.Duration
	for _, r := range w.rows {
		if r.Fleet == id && r.runner != nil && r.runner.Enrolled.After(r.Created) {
			took = append(took, r.runner.Enrolled.Sub(r.Created))
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		n.lead = took[len(took)/2]
	}
	if n.lead == 0 {
		return forecast.UsualLead
	}
	return n.lead
}

// recordNeeds notes what the plan says that fleets need. What can't be seen is not
// noted: it isn't zero.
func (l *Loop) recordNeeds(w *step, plan planner.Output) {
	for _, p := range plan.Fleets {
		n := l.needs[p.Fleet]
		if n == nil {
			continue
		}
		if p.Needed != nil {
			n.recorder.See(w.now, *p.Needed)
		}
		w.storeNeeds(p.Fleet, n, n.recorder.Due())
	}
}

// recordAllNeeds stores what is known before the manager stops, so that it isn't
// unknown to the next one.
func (l *Loop) recordAllNeeds(w *step) {
	for _, id := range slices.Sorted(maps.Keys(l.needs)) {
		n := l.needs[id]
		n.recorder.Close(w.now)
		w.storeNeeds(id, n, n.recorder.All())
	}
}

// storeNeeds has the step write runs.
func (w *step) storeNeeds(id fleet.RunnerFleetID, n *need, runs []forecast.Run) {
	n.due = runs
	for _, run := range runs {
		w.needed = append(w.needed, store.NeededRun{Fleet: id, Run: run})
	}
}

// markNeedsStored notes that the step is stored.
func (l *Loop) markNeedsStored(w *step) {
	if len(w.needed) == 0 {
		return
	}
	for _, n := range l.needs {
		n.recorder.Stored(n.due)
		n.due = nil
	}
}
