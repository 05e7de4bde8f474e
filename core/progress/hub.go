package progress

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Hub passes the loop's progress on to its watchers. A slow watcher misses
// steps in between and never holds up the loop: transitions that it missed are
// joined, everything else is as of the newest step.
type Hub struct {
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

// NewHub has no watchers.
func NewHub() *Hub { return &Hub{watchers: map[*watcher]bool{}} }

// Begin and End bracket the life of a loop.
func (h *Hub) Begin(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.observed, h.newest = snapshot.Observations{Since: now}, Progress{}
}

func (h *Hub) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.observed, h.newest = snapshot.Observations{}, Progress{}
}

// Observations are those of the newest step. They are read-only.
func (h *Hub) Observations() snapshot.Observations {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.observed
}

func (h *Hub) Publish(p Progress, observed snapshot.Observations) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newest, h.observed = p, observed
	h.newest.Transitions = nil
	for w := range h.watchers {
		next := p
		if w.pending != nil {
			next.Transitions = append(
				w.pending.Transitions[:len(w.pending.Transitions):len(w.pending.Transitions)],
				p.Transitions...)
		}
		w.pending = &next
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// take is what a watcher hasn't seen; nil: it was woken for what it has.
func (h *Hub) take(w *watcher) *Progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := w.pending
	w.pending = nil
	return p
}

// watch yields progress until ctx ends, first where the loop stands.
func (h *Hub) watch(ctx context.Context) iter.Seq2[Progress, error] {
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

// Watch yields the progress of the loop from now on, first where it stands, as far
// as it is the caller's to see.
func (h *Hub) Watch(ctx context.Context) iter.Seq2[Progress, error] {
	caller, err := access.Authorize(ctx, "watch")
	if err != nil {
		return func(yield func(Progress, error) bool) { yield(Progress{}, err) }
	}
	return func(yield func(Progress, error) bool) {
		for p, err := range h.watch(ctx) {
			if !yield(p.VisibleTo(caller), err) {
				return
			}
		}
	}
}
