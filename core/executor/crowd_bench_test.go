package executor_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// ledger is a store that counts the rows that are written to it.
type ledger struct {
	*store.Store
	instances, operations, decisions, runners atomic.Int64
}

func (l *ledger) Commit(ctx context.Context, c store.Change) error {
	l.instances.Add(int64(len(c.Instances)))
	l.operations.Add(int64(len(c.Operations)))
	l.decisions.Add(int64(len(c.Decisions)))
	return l.Store.Commit(ctx, c)
}

func (l *ledger) Enroll(ctx context.Context, r fleet.Runner, tokenHash string) error {
	l.runners.Add(1)
	return l.Store.Enroll(ctx, r, tokenHash)
}

func (l *ledger) RecordRunners(ctx context.Context, runners []fleet.Runner) error {
	l.runners.Add(int64(len(runners)))
	return l.Store.RecordRunners(ctx, runners)
}

// BenchmarkFromDemandToHealthy brings 5,000 hosts up whose provider and machines
// take no time, and compares it with the same number of rows of each kind written to
// the same kind of store in batches of 1,000, which is as fast as it could be:
// "of-ceiling" is how much of that is reached, "rows" how many a host takes.
func BenchmarkFromDemandToHealthy(b *testing.B) {
	const size = 5000
	for b.Loop() {
		c := &crowd{size: size}
		begin := gather(b, c, size)
		begun := time.Now()
		begin()
		<-c.healthy
		took := time.Since(begun)
		b.ReportMetric(size/took.Seconds(), "instances/s")
		ceiling, rows := writeInBatches(b, c)
		b.ReportMetric(float64(rows)/size, "rows")
		b.ReportMetric(ceiling.Seconds()/took.Seconds(), "of-ceiling")
	}
}

// writeInBatches is how long it takes to write as many rows as the crowd's manager
// did to a store of their own, 1,000 a transaction.
func writeInBatches(b *testing.B, c *crowd) (took time.Duration, rows int64) {
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	instances, operations, decisions, runners := c.books.instances.Load(), c.books.operations.Load(),
		c.books.decisions.Load(), c.books.runners.Load()
	state, err := c.books.Load(b.Context())
	must(err)
	page, err := c.books.Decisions(b.Context(), crowdedFleet(c.size).ID, 1000)
	must(err)
	fresh := openBooks(b, time.Now(), crowdedFleet(c.size))
	defer func() { _ = fresh.Close() }()
	must(fresh.Commit(b.Context(), store.Change{Instances: state.Instances, Operations: state.Operations}))
	enrollAll(b, fresh, state)

	begun := time.Now()
	inBatches(
		instances,
		state.Instances,
		func(some []fleet.CapacityInstance) { must(fresh.Commit(b.Context(), store.Change{Instances: some})) },
	)
	inBatches(
		operations,
		state.Operations,
		func(some []fleet.Operation) { must(fresh.Commit(b.Context(), store.Change{Operations: some})) },
	)
	inBatches(
		decisions,
		page,
		func(some []fleet.Decision) { must(fresh.Commit(b.Context(), store.Change{Decisions: some})) },
	)
	inBatches(runners, state.Runners, func(some []fleet.Runner) { must(fresh.RecordRunners(b.Context(), some)) })
	return time.Since(begun), instances + operations + decisions + runners
}

// inBatches hands out so many of all, from the first on again and again, 1,000 at once.
func inBatches[T any](number int64, all []T, write func([]T)) {
	for at := 0; number > 0 && len(all) > 0; {
		some := all[at:min(at+1000, len(all))]
		some = some[:min(int64(len(some)), number)]
		write(some)
		number -= int64(len(some))
		at = (at + len(some)) % len(all)
	}
}

// enrollAll makes the runners known, so that they can be written again.
func enrollAll(b *testing.B, books *store.Store, state snapshot.State) {
	hashes := map[fleet.OperationID]string{}
	for _, o := range state.Operations {
		hashes[o.ID] = o.TokenHash
	}
	var enrolled sync.WaitGroup
	for _, r := range state.Runners {
		enrolled.Go(func() {
			if err := books.Enroll(b.Context(), r, hashes[r.Operation]); err != nil {
				b.Error(err)
			}
		})
	}
	enrolled.Wait()
}
