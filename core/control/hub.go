package control

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reconcile"
)

// hub passes the loop's progress on to whoever watches. A slow watcher misses
// steps in between and never holds up the loop: transitions that it missed are
// joined, everything else is as of the newest step.
type hub struct {
	mu       sync.Mutex
	newest   Progress
	since    time.Time // when the loop began; zero: it doesn't run
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
	h.since, h.newest = now, Progress{}
}

func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since, h.newest = time.Time{}, Progress{}
}

// last is where the loop stands, and since when it runs.
func (h *hub) last() (Progress, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.newest, h.since
}

func (h *hub) publish(p Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newest = p
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
	caller, err := authorize(ctx, "watch")
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

// visibleTo leaves out the moves of fleets that aren't the caller's.
func (p Progress) visibleTo(caller Caller) Progress {
	var own []reconcile.Transition
	for _, t := range p.Transitions {
		if caller.mayTouch(t.Fleet) {
			own = append(own, t)
		}
	}
	p.Transitions = own
	if len(caller.Fleets) > 0 {
		all := p.Unrecorded
		p.Unrecorded = map[fleet.ProviderAddress]fleet.Unrecorded{}
		for address, u := range all {
			if visible := visibleUnrecorded(u, caller); visible.Orphans > 0 {
				p.Unrecorded[address] = visible
			}
		}
	}
	return p
}

// progressOf is what people may know of a step.
func progressOf(at time.Time, res reconcile.Result) Progress {
	p := Progress{
		At: at, Transitions: res.Transitions, States: map[fleet.CapacityInstanceState]int{}, Settled: res.Settled, Stuck: stuck(res),
		Serial: res.Serial, Unresolved: res.Unresolved, Holds: res.Holds, Blocked: res.Blocked, Unobserved: res.Unobserved, Unrecorded: res.Unrecorded,
	}
	for _, i := range res.Instances {
		if i.Live() {
			p.States[i.State]++
		}
	}
	return p
}
