package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// drawBatches lets fleets have several hosts made by one call in some worlds. Their
// providers know a call that comes again.
func (w *world) drawBatches(random *rand.Rand) {
	if random.IntN(2) == 0 {
		return
	}
	for n := range w.store.fleets[:2] {
		f := &w.store.fleets[n]
		f.Batch, f.Admission.Identity = 2+random.IntN(3), fleet.IdentityRequired
		w.clouds[n].facts.Batches, w.clouds[n].facts.Idempotency = true, fleet.IdempotencyNative
	}
}

// provisionBatch is one call for all members.
func (c *cloud) provisionBatch(life int, e loop.ProvisionBatch) {
	answer := func(o outcome, f *loop.Failure, over bool) {
		out := loop.BatchAnswered{Answers: o.members}
		if o.members == nil {
			for _, m := range e.Members {
				out.Answers = append(
					out.Answers,
					loop.ProvisionAnswered{Operation: m.Operation.ID, Outcome: o.provision, Failure: f, CallOver: over},
				)
			}
		}
		c.w.manager.deliver(life, out)
	}
	if !c.up {
		c.w.after(10*time.Millisecond, func() {
			answer(outcome{provision: fleet.ProvisionNotSent}, transient("no plugin answers"), true)
		})
		return
	}
	var keys []fleet.OperationID
	for _, m := range e.Members {
		keys = append(keys, m.Operation.ID)
	}
	c.begin(life, keys, func(x *call) (outcome, *loop.Failure) { return c.createBatch(x, e) }, answer)
}

// createBatch makes all of a batch or none. One that comes again gives what there is of
// it, and nothing new.
func (c *cloud) createBatch(x *call, e loop.ProvisionBatch) (outcome, *loop.Failure) {
	if o, f := c.refusal(); f != nil {
		return o, f
	}
	_, again := c.batches[e.Key]
	if !again {
		if o, f := c.full(); f != nil {
			return o, f
		}
	}
	var offer fleet.Offer
	if !again {
		var none *loop.Failure
		if offer, none = c.pick(e.Members[0].Intent.Offers); none != nil {
			return outcome{provision: fleet.ProvisionNotCreated}, none
		}
	}
	c.batches[e.Key] = asked(e)
	var members []loop.ProvisionAnswered
	for _, m := range e.Members {
		one := loop.ProvisionAnswered{Operation: m.Operation.ID, Outcome: fleet.ProvisionUnknown, CallOver: true}
		switch r := c.ofKey(m.Operation.ID); {
		case r == nil && !again:
			one.Outcome, one.Resource = fleet.ProvisionCreated, c.machine(x, m.Operation.ID, m.Intent.Tags, offer).Resource
		case r != nil:
			if r.State == fleet.ResourcePending && r.host == nil {
				c.boot(r)
			}
			one.Outcome, one.Resource = fleet.ProvisionExisted, r.Resource
		}
		members = append(members, one)
	}
	return outcome{members: members}, nil
}

// ofKey is the machine that a key made; nil: there is none.
func (c *cloud) ofKey(key fleet.OperationID) *resource {
	for _, r := range c.resources {
		if r.Key == key && !r.foreign && !r.copied && !r.part {
			return r
		}
	}
	return nil
}

// asked is all that a provider gets with a batch.
func asked(e loop.ProvisionBatch) string {
	var text strings.Builder
	for _, m := range e.Members {
		fmt.Fprintf(&text, "%s %s %s\n", m.Operation.ID, m.Operation.TokenHash, m.Operation.Request)
	}
	return text.String()
}

// batchIsOneCall: "provider calls are reconciled external effects;". A batch is stored
// before it goes out, whole, and is the same every time: a machine that is gone has no
// live row in one that goes out again.
func (w *world) batchIsOneCall(e loop.ProvisionBatch) {
	const name = "a batch is one call"
	before, again := w.cloud(e.Provider).batches[e.Key]
	if again && before != asked(e) {
		w.fail(name, "the batch %s goes out as\n%s, and before as\n%s", e.Key, asked(e), before)
	}
	open := 0
	for n, m := range e.Members {
		op := w.store.operations[m.Operation.ID]
		if op.State == fleet.OperationInProgress {
			open++
			w.intentComesBeforeTheCall(m)
		}
		if op.Batch != (fleet.BatchPlace{Key: e.Key, Number: n, Size: len(e.Members)}) ||
			op.TokenHash != "hash of "+string(e.Key) {
			w.fail(name, "member %d of %s is stored as %+v", n, e.Key, op.Batch)
		}
		if i := w.store.instances[op.Instance]; !i.Live() || i.State == fleet.Terminating || i.State == fleet.Failed {
			w.fail(name, "the batch %s goes out with %s, which is %s", e.Key, i.ID, i.State)
		}
	}
	if open == 0 {
		w.fail(name, "the batch %s goes out, and nothing of it is in progress", e.Key)
	}
}

// identity is what the host's provider vouches for, where its fleet asks for that.
// False: which host it is isn't known yet.
func (h *host) identity(i fleet.CapacityInstance) (fleet.VerifiedIdentity, bool) {
	inBatch := h.w.store.operations[i.Key].Batch.Key != ""
	if !inBatch && !h.w.store.fleet(i.ID).Admission.RequiresIdentity() {
		return fleet.VerifiedIdentity{}, true
	}
	if i.ProviderInstance == "" {
		return fleet.VerifiedIdentity{}, false
	}
	return fleet.VerifiedIdentity{Kind: "simulated", Resource: h.resource.ID, Verified: h.w.now()}, true
}
