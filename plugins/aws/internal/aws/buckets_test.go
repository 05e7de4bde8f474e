package aws

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

// throttles counts the answers that tell somebody to ask less.
type throttles struct {
	under http.RoundTripper
	count atomic.Int64
}

func (c *throttles) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := c.under.RoundTrip(request)
	if err == nil && answer.StatusCode == http.StatusServiceUnavailable {
		c.count.Add(1)
	}
	return answer, err
}

// busy is an account that throttles as published, with the plugin in front of it.
// The clock is the bubble's.
func busy(t *testing.T) (*lab, *cloud, *throttles) {
	t.Helper()
	l := newLab(t, ec2sim.Options{Throttled: true, Delays: ec2sim.Delays{Running: 20 * time.Second}})
	p := l.start(t)
	counted := &throttles{under: l}
	p.api = ec2From(t, counted)
	return l, p, counted
}

// launchAll makes machines for keys as the host does: as many calls at once as the
// plugin takes, and again after a pause where the API wants one.
func launchAll(ctx context.Context, p *cloud, count int) error {
	keys := make(chan string)
	failed := make(chan error, parallel)
	var all sync.WaitGroup
	for range parallel {
		all.Go(func() {
			for key := range keys {
				if err := launchPatiently(ctx, p, key); err != nil {
					select {
					case failed <- err:
					default: // one tells enough
					}
				}
			}
		})
	}
	for n := range count {
		keys <- fmt.Sprintf("01jx%022d", n)
	}
	close(keys)
	all.Wait()
	close(failed)
	return <-failed
}

func launchPatiently(ctx context.Context, p *cloud, key string) error {
	for {
		one := asked()
		one.Key = key
		_, err := p.Provision(ctx, one)
		if err == nil || classOf(err) != provider.RateLimit {
			return err
		}
		time.Sleep(5 * time.Second) // the host's pause for what is throttled
	}
}

// RunInstances has 5 calls and 2 more a second: a thousand machines take 497.5
// seconds at least. What is listed meanwhile draws from another bucket.
// core/executor's TestHostsComeAsFastAsThePublishedBucketsOfTheirProviderAllow shows
// that the manager isn't in the way either.
func TestAThousandMachinesComeAsFastAsThePublishedBucketsAllow(t *testing.T) {
	if !*whole {
		t.Skip("SKIP: a thousand machines take a while; make test tries them, and so does -whole")
	}
	if testing.Short() {
		t.Skip("a thousand machines are listed again and again")
	}
	const count = 1000
	floor := time.Duration(count-5) * time.Second / 2
	synctest.Test(t, func(t *testing.T) {
		l, p, throttled := busy(t)
		begun := time.Now()
		looking, end := context.WithCancel(t.Context())
		var looks sync.WaitGroup
		looks.Go(func() {
			for looking.Err() == nil {
				for _, err := range p.Inspect(looking, provider.Query{}) {
					if err != nil && looking.Err() == nil {
						t.Errorf("a list fails meanwhile: %v", err)
					}
				}
				time.Sleep(time.Minute)
			}
		})
		if err := launchAll(t.Context(), p, count); err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun)
		end()
		looks.Wait()
		instances, _ := list(t.Context(), t, p)
		t.Logf("%s, and %s at least; %d answers told to wait", took.Round(time.Millisecond), floor, throttled.count.Load())
		if took > floor*105/100 {
			t.Errorf("%d machines took %s, more than 1.05 times of %s", count, took, floor)
		}
		if n := throttled.count.Load(); n > 10 {
			t.Errorf("%d requests were throttled", n)
		}
		if calls := l.Calls("RunInstances"); len(instances) != count || calls > count+10 {
			t.Errorf("%d machines by %d calls, wanted %d", len(instances), calls, count)
		}
	})
}

// Somebody else launches in the same account, once a second, so that only half of
// what is published is left: the plugin finds its pace instead of failing calls.
func TestAnAccountThatIsSharedIsNotStormed(t *testing.T) {
	const count = 100
	synctest.Test(t, func(t *testing.T) {
		l, p, throttled := busy(t)
		other := l.start(t)
		working, end := context.WithCancel(t.Context())
		var elsewhere sync.WaitGroup
		elsewhere.Go(func() {
			for n := 0; working.Err() == nil; n++ {
				one := asked()
				one.Key = fmt.Sprintf("01jy%022d", n)
				if _, err := other.Provision(working, one); err != nil && working.Err() == nil &&
					classOf(err) != provider.RateLimit {
					t.Errorf("somebody else: %v", err)
				}
				time.Sleep(time.Second)
			}
		})
		begun := time.Now()
		if err := launchAll(t.Context(), p, count); err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun)
		end()
		elsewhere.Wait()
		instances, _ := list(t.Context(), t, p)
		ours := 0
		for _, one := range instances {
			if strings.HasPrefix(one.Key, "01jx") {
				ours++
			}
		}
		t.Logf("%d machines in %s; %d answers told to wait", ours, took.Round(time.Millisecond), throttled.count.Load())
		if ours != count {
			t.Errorf("%d machines, wanted %d", ours, count)
		}
		if n := throttled.count.Load(); n > count {
			t.Errorf("%d requests for %d machines were throttled", n, count)
		}
	})
}
