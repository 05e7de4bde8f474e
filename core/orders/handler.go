package orders

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// Handler carries out what people decide, or only checks it.
type Handler struct {
	store *store.Store
	clock func() time.Time
	// queries finds what an order is about.
	queries query.Queries
	// loop is the running one; nil: none runs.
	loop func() *Loop
	// check says that nothing is stored, and no loop notified.
	check bool
}

// NewHandler is of a store that is open for writing. loop is the running one; nil:
// none runs.
func NewHandler(s *store.Store, clock func() time.Time, queries query.Queries, loop func() *Loop) Handler {
	return Handler{store: s, clock: clock, queries: queries, loop: loop}
}

// NewChecker makes every order say what it would do, or fail as it would, and
// changes nothing: so that no question is asked about what is refused afterwards.
// Its store may be read-only.
func NewChecker(s *store.Store, clock func() time.Time, queries query.Queries) Handler {
	return Handler{store: s, clock: clock, queries: queries, check: true, loop: func() *Loop { return nil }}
}

// Loop hands orders to a running loop and its outcomes to those who wait for them.
type Loop struct {
	// Send gives the loop an event, Wake has it make a step soon.
	Send func(context.Context, loop.Event)
	Wake func()
	// Ended is closed when it makes no further step.
	Ended <-chan struct{}

	mu      sync.Mutex
	waiting map[string]chan loop.OrderOutcome
}

// patience is how long an order may wait for an inspection of its provider.
const patience = time.Minute

// give hands an order to the loop and waits for what comes of it.
func (l *Loop) give(ctx context.Context, now time.Time, o loop.Order, subject string) (loop.OrderOutcome, error) {
	id, err := fleet.NewULID(now, rand.Reader)
	if err != nil {
		return loop.OrderOutcome{}, err
	}
	o.ID, o.Until = id, now.Add(patience)
	answer := l.expect(id)
	defer l.drop(id)
	l.Send(ctx, loop.Ordered{Order: o})
	select {
	case outcome := <-answer:
		return outcome, nil
	case <-l.Ended:
		return loop.OrderOutcome{}, errors.New(
			"the manager is stopping; whether that was carried out shows in forgeyard-fleet status and instance list",
		)
	case <-ctx.Done():
		return loop.OrderOutcome{}, fmt.Errorf(
			"wait for %s: %w; whether it was carried out shows in forgeyard-fleet status and instance list",
			subject,
			ctx.Err(),
		)
	}
}

// noted waits until a step of a running loop has seen what was stored just now. It
// returns false where none runs.
func (h Handler) noted(ctx context.Context, subject string) (bool, error) {
	l := h.loop()
	if l == nil {
		return false, nil
	}
	_, err := l.give(ctx, h.clock(), loop.Order{Kind: loop.TakeNote, By: access.CallerOf(ctx).Name}, subject)
	return err == nil, err
}

func (l *Loop) expect(id string) <-chan loop.OrderOutcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = map[string]chan loop.OrderOutcome{}
	}
	l.waiting[id] = make(chan loop.OrderOutcome, 1)
	return l.waiting[id]
}

func (l *Loop) drop(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, id)
}

// Answer hands outcomes of a step to those who wait for them. It never blocks: each order
// has one outcome, and room for it.
func (l *Loop) Answer(outcomes []loop.OrderOutcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range outcomes {
		if c := l.waiting[o.ID]; c != nil {
			c <- o
			delete(l.waiting, o.ID)
		}
	}
}
