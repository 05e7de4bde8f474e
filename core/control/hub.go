package control

import (
	"context"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// hub passes the loop's progress on to whoever watches. A slow watcher misses
// steps in between and never holds up the loop: transitions that it missed are
// joined, everything else is as of the newest step.
type hub struct {
	mu     sync.Mutex
	newest Progress
	// observed is what the loop knows beyond the store as of the newest step; zero: it
	// doesn't run.
	observed snapshot.Observations
	watchers map[*watcher]bool
}

type watcher struct {
	pending *Progress
	wake    chan struct{}
}

func newHub() *hub { return &hub{watchers: map[*watcher]bool{}} }

// begin and end bracket the life of a loop.
func (h *hub) begin(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.observed, h.newest = snapshot.Observations{Since: now}, Progress{}
}

func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.observed, h.newest = snapshot.Observations{}, Progress{}
}

// observations are those of the newest step. Nobody writes to them.
func (h *hub) observations() snapshot.Observations {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.observed
}

func (h *hub) publish(p Progress, observed snapshot.Observations) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newest, h.observed = p, observed
	h.newest.Transitions = nil
	for w := range h.watchers {
		next := p
		if w.pending != nil {
			next.Transitions = append(w.pending.Transitions[:len(w.pending.Transitions):len(w.pending.Transitions)], p.Transitions...)
		}
		w.pending = &next
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// take is what a watcher hasn't seen; nil: it was woken for what it has.
func (h *hub) take(w *watcher) *Progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := w.pending
	w.pending = nil
	return p
}

// watch yields progress until ctx ends, first where the loop stands.
func (h *hub) watch(ctx context.Context) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		w := &watcher{wake: make(chan struct{}, 1)}
		h.mu.Lock()
		if !h.newest.At.IsZero() {
			first := h.newest
			w.pending = &first
			w.wake <- struct{}{}
		}
		h.watchers[w] = true
		h.mu.Unlock()
		defer func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.watchers, w)
		}()
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
			}
			if p := h.take(w); p != nil && !yield(*p, nil) {
				return
			}
		}
	}
}

// Watch yields the progress of the loop.
func (m *Manager) Watch(ctx context.Context) iter.Seq2[Progress, error] {
	caller, err := access.Authorize(ctx, "watch")
	if err != nil {
		return func(yield func(Progress, error) bool) { yield(Progress{}, err) }
	}
	return func(yield func(Progress, error) bool) {
		for p, err := range m.hub.watch(ctx) {
			if !yield(p.visibleTo(caller), err) {
				return
			}
		}
	}
}

// visibleTo leaves out what is about fleets that aren't the caller's.
func (p Progress) visibleTo(caller access.Caller) Progress {
	if len(caller.Fleets) == 0 {
		return p
	}
	p.Silent, p.Holds, p.Fleets = maps.Clone(p.Silent), maps.Clone(p.Holds), maps.Clone(p.Fleets)
	maps.DeleteFunc(p.Silent, func(_ fleet.CapacityInstanceID, a fleet.FleetAddress) bool { return !caller.MayTouch(a) })
	maps.DeleteFunc(p.Fleets, func(_ fleet.RunnerFleetID, a fleet.FleetAddress) bool { return !caller.MayTouch(a) })
	maps.DeleteFunc(p.Holds, func(id fleet.RunnerFleetID, _ snapshot.Hold) bool { _, own := p.Fleets[id]; return !own })
	p.Rollouts = maps.Clone(p.Rollouts)
	maps.DeleteFunc(p.Rollouts, func(a fleet.FleetAddress, _ planner.RolloutPlan) bool { return !caller.MayTouch(a) })
	p.Waits = maps.Clone(p.Waits)
	maps.DeleteFunc(p.Waits, func(a fleet.FleetAddress, _ []planner.Wait) bool { return !caller.MayTouch(a) })
	var own []loop.Transition
	for _, t := range p.Transitions {
		if caller.MayTouch(t.Fleet) {
			own = append(own, t)
		}
	}
	p.Transitions = own
	// Schedulers are the whole installation's; of those of their own fleets they
	// hear where they look at the fleets.
	p.Schedulers, p.Unplaced = nil, caller.Unplaced(p.Unplaced)
	all := p.Unrecorded
	p.Unrecorded = map[fleet.ProviderAddress]fleet.Unrecorded{}
	for address, u := range all {
		if visible := caller.Unrecorded(u); visible.Orphans > 0 {
			p.Unrecorded[address] = visible
		}
	}
	return p
}

// progressOf is what people may know of a step.
func progressOf(at time.Time, res loop.Result) Progress {
	seen := res.Observations
	p := Progress{
		At: at, Transitions: res.Transitions, States: map[fleet.CapacityInstanceState]int{}, Settled: res.Settled, Stuck: stuck(res),
		Serial: res.Serial, Unresolved: res.Unresolved, Holds: res.Holds(), Blocked: seen.Blocked, Unobserved: seen.Unobserved, Faults: seen.Faults, Unrecorded: seen.Unrecorded,
		Silent: map[fleet.CapacityInstanceID]fleet.FleetAddress{}, Observed: seen.Inspected, Fleets: map[fleet.RunnerFleetID]fleet.FleetAddress{},
		Schedulers: seen.Schedulers, Unplaced: res.Plan.Unplaced,
	}
	addresses := make(map[fleet.RunnerFleetID]fleet.FleetAddress, len(res.Plan.Fleets))
	for _, f := range res.Plan.Fleets {
		addresses[f.Fleet] = f.Address
		var hold *snapshot.Hold
		if why, held := p.Holds[f.Fleet]; held {
			p.Fleets[f.Fleet], hold = f.Address, &why
		}
		if f.Follows {
			p.Following++
		}
		for _, wait := range f.Waiting {
			if wait.Code.Calm() || wait.Code == planner.RolloutStopped || wait.Repeats(hold) {
				continue // that is told elsewhere
			}
			if p.Waits == nil {
				p.Waits = map[fleet.FleetAddress][]planner.Wait{}
			}
			p.Waits[f.Address] = append(p.Waits[f.Address], wait)
		}
		if f.Rollout != nil {
			if p.Rollouts == nil {
				p.Rollouts = map[fleet.FleetAddress]planner.RolloutPlan{}
			}
			p.Rollouts[f.Address] = *f.Rollout
		}
	}
	silent := make(map[fleet.CapacityInstanceID]bool, len(res.Silent))
	for _, id := range res.Silent {
		silent[id] = true
	}
	for _, i := range res.Instances {
		if i.Live() {
			p.States[i.State]++
		}
		if silent[i.ID] {
			p.Silent[i.ID] = addresses[i.Fleet]
		}
	}
	return p
}
