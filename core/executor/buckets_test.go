package executor_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bucket is a token bucket as a cloud's API has them: a call waits for its token, as
// a plugin that knows the bucket does.
type bucket struct {
	mu     sync.Mutex
	size   float64
	rate   float64 // a second
	tokens float64
	filled time.Time
}

func newBucket(size, rate float64) *bucket {
	return &bucket{size: size, rate: rate, tokens: size, filled: time.Now()}
}

// take waits for one token.
func (b *bucket) take(ctx context.Context) error {
	b.mu.Lock()
	now := time.Now()
	b.tokens = min(b.size, b.tokens+b.rate*now.Sub(b.filled).Seconds())
	b.filled = now
	b.tokens--
	wait := time.Duration(-b.tokens / b.rate * float64(time.Second))
	b.mu.Unlock()
	if wait > 0 {
		pause(ctx, wait)
	}
	return ctx.Err()
}

// EC2's published buckets (user guide, "Request throttling for the Amazon EC2 API"):
// RunInstances has 5 calls and 2 more a second, and 1,000 instances and 2 more a
// second; filtered describes have 100 calls and 20 more a second.
const (
	runCalls, runCallsRate         = 5, 2
	runInstances, runInstancesRate = 1000, 2
	describes, describesRate       = 100, 20
)

// underBuckets brings hosts up whose provider has EC2's buckets, one call each, and
// returns how long that took and the least that the buckets allow.
func underBuckets(t testing.TB, size int) (took, floor time.Duration) {
	calls, instances, looks := newBucket(
		runCalls,
		runCallsRate,
	), newBucket(
		runInstances,
		runInstancesRate,
	), newBucket(
		describes,
		describesRate,
	)
	c := &crowd{
		size:    size,
		boot:    time.Minute,
		beats:   20 * time.Minute,
		inspect: looks.take,
		call: func(ctx context.Context) error {
			if err := calls.take(ctx); err != nil {
				return err
			}
			return instances.take(ctx)
		},
	}
	begin := gather(t, c, 0)
	begun := time.Now()
	begin()
	<-c.healthy
	least := max(float64(size-runCalls)/runCallsRate, float64(size-runInstances)/runInstancesRate)
	return time.Since(begun), time.Duration(least*float64(time.Second)) + c.boot
}

// 200 hosts of a provider with EC2's buckets are Healthy within 1.05 times of the
// time that the buckets and one boot take at least: nothing of ours is in the way.
func TestHostsComeAsFastAsThePublishedBucketsOfTheirProviderAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took, floor := underBuckets(t, 200)
		t.Logf("%s, and %s at least", took.Round(time.Millisecond), floor)
		if took > floor*105/100 {
			t.Errorf("200 hosts took %s, more than 1.05 times of %s", took, floor)
		}
	})
}
