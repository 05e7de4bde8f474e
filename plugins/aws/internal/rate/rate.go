// Package rate keeps the plugin to the request rates that AWS publishes, so that it
// isn't throttled where it has the account for itself, and asks less where it
// shares it.
package rate

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// Bucket is a token bucket: at once as many requests as it holds, later ones as
// tokens come.
type Bucket struct{ limiter *rate.Limiter }

// NewBucket is a full bucket of a size that gets refill tokens per second.
func NewBucket(size int, refill float64) *Bucket {
	return &Bucket{rate.NewLimiter(rate.Limit(refill), size)}
}

// Take waits for a token. A context that ends first gets an error, and the token
// stays for others.
func (b *Bucket) Take(ctx context.Context) error {
	if err := b.limiter.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the rate limit: %w", err)
	}
	return nil
}

// Empty is called when AWS refuses a request for its rate: others use the same
// account, and what was thought to be left isn't.
func (b *Bucket) Empty() {
	now := time.Now()
	if left := int(b.limiter.TokensAt(now)); left > 0 {
		b.limiter.AllowN(now, left)
	}
}
