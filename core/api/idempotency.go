package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
)

// replays remembers the applies that were carried out under a key, so that one
// whose answer was lost can be sent again. It is only in memory: after a restart
// the same apply finds its definition current, or its plan stale.
type replays struct {
	now func() time.Time

	mu    sync.Mutex
	byKey map[replayKey]*replay
	// order is of the keys, the oldest first.
	order []replayKey
}

// replayKey is of one caller: no caller gets another's answer.
type replayKey struct{ caller, key string }

type replay struct {
	digest string
	at     time.Time
	// done is closed once receipt and succeeded are final.
	done      chan struct{}
	receipt   plans.Receipt
	succeeded bool
}

const (
	replayLife = 24 * time.Hour
	maxReplays = 1000
)

func newReplays(now func() time.Time) *replays {
	return &replays{now: now, byKey: map[replayKey]*replay{}}
}

// once carries out the request of a key and digest, or waits for the call that does
// and gives their receipt. What failed isn't remembered.
func (r *replays) once(
	ctx context.Context,
	key, digest string,
	do func() (plans.Receipt, error),
) (plans.Receipt, error) {
	caller := access.CallerOf(ctx)
	k := replayKey{caller.Name, key}
	for {
		one, mine := r.claim(k, digest)
		if mine {
			return r.carryOut(k, one, do)
		}
		if one.digest != digest {
			return plans.Receipt{}, &access.ConflictError{
				Reason: "this Idempotency-Key was used for another request; choose a new key",
			}
		}
		select {
		case <-ctx.Done():
			return plans.Receipt{}, ctx.Err()
		case <-one.done:
		}
		if one.succeeded {
			return one.receipt, nil
		}
	}
}

// claim is the replay of a key, and whether the claimer is to carry it out.
func (r *replays) claim(k replayKey, digest string) (one *replay, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for len(r.order) > 0 {
		oldest := r.byKey[r.order[0]]
		if len(r.order) < maxReplays && now.Sub(oldest.at) < replayLife {
			break
		}
		delete(r.byKey, r.order[0])
		r.order = r.order[1:]
	}
	if one, there := r.byKey[k]; there {
		return one, false
	}
	one = &replay{digest: digest, at: now, done: make(chan struct{})}
	r.byKey[k] = one
	r.order = append(r.order, k)
	return one, true
}

func (r *replays) carryOut(
	k replayKey,
	one *replay,
	do func() (plans.Receipt, error),
) (receipt plans.Receipt, err error) {
	defer func() { // also when do panics
		if !one.succeeded {
			r.forget(k, one)
		}
		close(one.done)
	}()
	if receipt, err = do(); err == nil {
		one.receipt, one.succeeded = receipt, true
	}
	return receipt, err
}

func (r *replays) forget(k replayKey, one *replay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey[k] != one {
		return // it was the oldest of too many
	}
	delete(r.byKey, k)
	r.order = slices.DeleteFunc(r.order, func(other replayKey) bool { return other == k })
}
