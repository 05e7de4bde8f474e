package loop

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// detectMassSilence finds the providers whose runners fell silent together. That says more
// about the manager's ears than about the runners: nothing is concluded from it.
// Those that were given up as lost before are no part of it, or two that happened
// to die together would never be let go.
func (l *Loop) detectMassSilence(w *step) {
	type runners struct {
		all       int
		beats     []time.Time
		heartbeat time.Duration
	}
	byProvider := map[fleet.ProviderAddress]*runners{}
	for _, r := range w.rows {
		lost := r.State == fleet.Quarantined && r.Cause == string(lifecycle.RunnerLost)
		if r.runner == nil || lost || r.State != fleet.Healthy && r.State != fleet.Draining && r.State != fleet.Quarantined {
			continue
		}
		p := byProvider[r.Provider]
		if p == nil {
			p = &runners{}
			byProvider[r.Provider] = p
		}
		p.all++
		p.heartbeat = max(p.heartbeat, r.fleet.Timeouts.Heartbeat)
		if lifecycle.Silent(*r.runner, r.fleet.Timeouts.Heartbeat, l.listeningSince, w.now) {
			p.beats = append(p.beats, lifecycle.Heard(*r.runner, l.listeningSince, w.now))
		}
	}
	w.unheard = map[fleet.ProviderAddress]reason.Reason{}
	for address, p := range byProvider {
		if lifecycle.SilentTogether(p.beats, p.all, p.heartbeat) {
			w.unheard[address] = reason.Of(reason.RunnersSilentTogether{Silent: len(p.beats), Runners: p.all})
		}
	}
}

// silent says whether a row's runner missed its heartbeats, as far as this
// process has listened without a gap.
func (l *Loop) silent(w *step, r *row) bool {
	return l.silentFor(w, r) > r.fleet.Timeouts.Heartbeat
}

// silentFor is how long a row's runner is known to have been silent.
func (l *Loop) silentFor(w *step, r *row) time.Duration {
	if r.runner == nil {
		return 0
	}
	listened := snapshot.Observations{Since: l.listeningSince, Unheard: w.unheard}
	return listened.SilentFor(r.Provider, *r.runner, w.now)
}
