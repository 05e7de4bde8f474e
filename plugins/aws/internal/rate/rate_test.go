package rate

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// 1,000 launches take what the formula says: the bucket's 5 at once, the others at
// 2 in a second, by whomever they are asked for.
func TestThousandLaunchesTakeAsLongAsBucketAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := NewBucket(5, 2), time.Now()
		var calls sync.WaitGroup
		for range 1000 {
			calls.Go(func() {
				if err := b.Take(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if took, floor := time.Since(began), 995*time.Second/2; took < floor || took > floor+floor/20 {
			t.Fatalf("took %s, and the floor is %s", took, floor)
		}
	})
}

func TestCancelledWaitReturnsItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBucket(1, 1)
		if err := b.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		hasty, give := context.WithCancel(t.Context())
		give()
		for range 100 {
			if err := b.Take(hasty); err == nil {
				t.Fatal("got a token that isn't there yet")
			}
		}
		began := time.Now()
		if err := b.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Fatalf("waited %s for the next token, which comes after 1s", took)
		}
	})
}

func TestThrottledBucketIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := NewBucket(5, 2), time.Now()
		b.Empty()
		if err := b.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Second/2 {
			t.Fatalf("waited %s", took)
		}
	})
}
