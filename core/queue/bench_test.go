package queue_test

import (
	"fmt"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// One operation is a lease and its end, while 1,000 runners are admitted and
// 10,000 jobs of 20 kinds wait.
func BenchmarkLease(b *testing.B) {
	w := newWorld(b)
	for n := range 1000 {
		w.admit(fmt.Sprintf("r%d", n), linux)
	}
	submit := func(n int) {
		w.submit(
			queue.Submission{Priority: n % 4, Requirement: forgeyard.Requirement{OS: "linux", Project: fmt.Sprint(n % 5)}},
		)
	}
	for n := range 10_000 {
		submit(n)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		runner, id := fmt.Sprintf("r%d", n%1000), fmt.Sprintf("l%d", n)
		if _, granted := w.lease(runner, id); !granted {
			b.Fatal("no lease")
		}
		if err := w.Finish(runner, id, worker.Result{}); err != nil {
			b.Fatal(err)
		}
		submit(n)
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "leases/s")
}

func BenchmarkDemand(b *testing.B) {
	w := newWorld(b)
	for n := range 1000 {
		w.admit(fmt.Sprintf("r%d", n), linux)
	}
	for n := range 10_000 {
		w.submit(
			queue.Submission{Priority: n % 4, Requirement: forgeyard.Requirement{OS: "linux", Project: fmt.Sprint(n % 5)}},
		)
	}
	for b.Loop() {
		if len(w.Demand().Queued) != 20 {
			b.Fatal("kinds are missing")
		}
	}
}
