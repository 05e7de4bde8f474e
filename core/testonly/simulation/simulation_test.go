package simulation

import (
	"bytes"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

var soak = flag.Int("seeds", 300, "how many seeds to simulate; make test takes 2000")
var first = flag.Uint64("first", 0, "the first seed")

// each runs a function on seeds, as many at once as there are processors, until
// it says that it is enough.
func each(count int, do func(seed uint64) (enough bool)) {
	next := make(chan uint64)
	stop := make(chan struct{})
	var once sync.Once
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range next {
				if do(seed) {
					once.Do(func() { close(stop) })
				}
			}
		})
	}
	defer workers.Wait()
	defer close(next)
	for seed := range uint64(count) {
		select {
		case next <- *first + seed:
		case <-stop:
			return
		}
	}
}

func TestEveryInvariantHoldsForEverySeed(t *testing.T) {
	var mutex sync.Mutex
	failures := 0
	each(*soak, func(seed uint64) bool {
		r := Run(Options{Seed: seed})
		if r.Failure == nil {
			return false
		}
		small := Shrink(Options{Seed: seed})
		mutex.Lock()
		defer mutex.Unlock()
		t.Errorf("%s", small)
		failures++
		return failures >= 5
	})
}

func TestSomeWorldsMakeBatches(t *testing.T) {
	seed := uint64(0)
	for ; seed < 20 && !bytes.Contains(Run(Options{Seed: seed}).Log, []byte("EFFECT batch ")); seed++ {
	}
	if seed == 20 {
		t.Error("in 20 worlds no hosts are made by one call")
	}
}

func TestSomeWorldsScaleUpByScheduleAndByForecast(t *testing.T) {
	for _, cause := range []reason.Code{reason.CodeOf[reason.KeepWarm](), reason.CodeOf[reason.ForecastNeeds]()} {
		decision := fmt.Appendf(nil, "scale_up (%s): ", cause)
		seed := uint64(0)
		for ; seed < 20 && !bytes.Contains(Run(Options{Seed: seed}).Log, decision); seed++ {
		}
		if seed == 20 {
			t.Errorf("in 20 worlds no instance starts because of %s", cause)
		}
	}
}
