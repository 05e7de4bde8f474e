// Package rate keeps the plugin to the rates that the vendor publishes, so that it
// isn't throttled where it has the account for itself, and asks less where it hasn't.
package rate

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Bucket gives out tokens: at once as many as it holds, later as they come.
type Bucket struct {
	size, refill float64
	now          func() time.Time

	mutex  sync.Mutex
	tokens float64 // below zero: promised to those who wait
	filled time.Time
}

// NewBucket is a full bucket of a size that gets refill tokens in a second.
func NewBucket(size, refill float64, now func() time.Time) *Bucket {
	return &Bucket{size: size, refill: refill, now: now, tokens: size, filled: now()}
}

// Take waits for a token. A context that ends first gets an error, and the token
// that it would have had goes back.
func (b *Bucket) Take(ctx context.Context) error {
	wait := b.reserve()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		b.mutex.Lock()
		defer b.mutex.Unlock()
		b.tokens++
		return fmt.Errorf("wait for the rate limit: %w", context.Cause(ctx))
	}
}

// Empty is called when the other side says that there is nothing: others use the
// same account.
func (b *Bucket) Empty() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.fill()
	b.tokens = min(b.tokens, 0)
}

func (b *Bucket) reserve() time.Duration {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.fill()
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.refill * float64(time.Second))
}

// fill adds what has come since. The mutex is held.
func (b *Bucket) fill() {
	now := b.now()
	if since := now.Sub(b.filled); since > 0 {
		b.tokens = min(b.size, b.tokens+since.Seconds()*b.refill)
		b.filled = now
	}
}
