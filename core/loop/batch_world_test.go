package loop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// batchFleet asks for batches of at most the number, of a provider that makes them.
func batchFleet(least, most, batch int) fleet.ManagedFleet {
	f := demoFleet(least, most)
	f.Batch, f.Admission.Identity = batch, fleet.IdentityRequired
	return f
}

// newBatchWorld is a provider that makes batches.
func newBatchWorld(t testing.TB, fleets ...fleet.ManagedFleet) *world {
	w := newWorld(t, fleets...)
	w.facts.Idempotency, w.facts.Ownership, w.facts.Batches = fleet.IdempotencyNative, fleet.OwnershipSigned, true
	w.store = newFakeStore(fleets...)
	w.calls = nil
	w.restart()
	return w
}

func batchCall(e ProvisionBatch) string {
	words := "batch of " + string(e.Key)
	for _, m := range e.Members {
		words += " " + string(m.Operation.ID)
	}
	return words
}

// asked is all that the provider gets with a batch.
func asked(e ProvisionBatch) string {
	var text strings.Builder
	for _, m := range e.Members {
		fmt.Fprintf(&text, "%s %s %s\n", m.Operation.ID, m.Operation.TokenHash, m.Operation.Request)
	}
	return text.String()
}

// answerAll gives every member the same answer.
func answerAll(e ProvisionBatch, same ProvisionAnswered) BatchAnswered {
	var out BatchAnswered
	for _, m := range e.Members {
		same.Operation = m.Operation.ID
		out.Answers = append(out.Answers, same)
	}
	return out
}

// makeBatch is what the provider does with a batch: it knows one that comes again, and
// never makes what is gone again.
func (w *world) makeBatch(e ProvisionBatch) BatchAnswered {
	w.t.Helper()
	before, again := w.batches[e.Key]
	if now := asked(e); again && now != before {
		w.t.Fatalf("the batch %s comes again as another:\n%s\nbefore:\n%s", e.Key, now, before)
	}
	w.batches[e.Key] = asked(e)
	var out BatchAnswered
	for _, m := range e.Members {
		answer := ProvisionAnswered{Operation: m.Operation.ID, Outcome: fleet.ProvisionUnknown, CallOver: true}
		if _, there := w.cloud[m.Operation.ID]; there || !again {
			answer.Outcome, answer.Resource = fleet.ProvisionCreated, w.make(m)
		}
		out.Answers = append(out.Answers, answer)
	}
	return out
}

// provisionsIn are the requests that an effect sends.
func provisionsIn(e Effect) []Provision {
	switch e := e.(type) {
	case Provision:
		return []Provision{e}
	case ProvisionBatch:
		return e.Members
	}
	return nil
}

// finishBatch ends a call that the plugin works on.
func (c *chaos) finishBatch(e ProvisionBatch, done bool) Event {
	_, made := c.batches[e.Key]
	if e.Members[0].Operation.Attempts > 1 {
		c.resent++
	}
	half := !done && !made && c.random.IntN(4) == 0
	for _, m := range e.Members {
		delete(c.inFlight, m.Operation.ID)
		if done || half {
			if c.listedAt == nil {
				c.listedAt = map[fleet.OperationID]time.Time{}
			}
			if _, listed := c.listedAt[m.Operation.ID]; !listed {
				c.listedAt[m.Operation.ID] = c.now.Add(time.Duration(c.random.Int64N(int64(c.facts.ListSettle) + 1)))
			}
		}
	}
	answer := lost(e, true)
	switch {
	case half: // some of them have not been started yet
		c.tell("half made")
		c.makeBatch(e)
		for _, m := range e.Members {
			if c.random.IntN(2) == 0 {
				res := c.cloud[m.Operation.ID]
				res.State = fleet.ResourcePending
				c.cloud[m.Operation.ID] = res
			}
		}
	case done && c.random.IntN(3) > 0:
		answer = c.makeBatch(e)
	case done:
		c.makeBatch(e)
	case !made && c.random.IntN(3) == 0:
		answer = answerAll(
			e,
			ProvisionAnswered{
				Outcome:  fleet.ProvisionNotCreated,
				Failure:  &Failure{Class: fleet.ErrorCapacity, Message: "full"},
				CallOver: true,
			},
		)
	}
	return answer
}

// The same as without batches: answers get lost and come late, managers die, lists lag
// and fail, machines end and the file changes.
func TestRandomInterleavingsConvergeWithBatches(t *testing.T) {
	seeds := 200
	if testing.Short() {
		seeds = 100
	}
	batches, resent := 0, 0
	for seed := range uint64(seeds) {
		c := newChaos(t, seed, 12)
		f := batchFleet(2, 4, 2+int(seed%3))
		c.store.fleets["f1"] = f
		c.facts.Idempotency, c.facts.Ownership, c.facts.Batches = fleet.IdempotencyNative, fleet.OwnershipSigned, true
		c.restart()
		for range 120 {
			c.act()
			c.check()
		}
		c.calm()
		batches, resent = batches+len(c.batches), resent+c.resent
	}
	if batches < seeds/2 || resent < seeds/10 {
		t.Errorf("only %d batches were made in %d runs, and %d calls came again", batches, seeds, resent)
	}
}
