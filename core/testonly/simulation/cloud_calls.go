package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// patience is the deadline of a call, after which its caller doesn't wait.
const patience = 10 * time.Second

// seconds is a drawn time between two numbers of seconds.
func (c *cloud) seconds(from, to float64) time.Duration {
	return time.Duration((from + c.random.Float64()*(to-from)) * float64(time.Second))
}

// begin puts a call into the plugin: it acts in the cloud in the middle, and is
// over at the end. act says what came of it; nil: the request never left.
func (c *cloud) begin(
	life int,
	keys []fleet.OperationID,
	act func(*call) (outcome, *loop.Failure),
	answer func(outcome, *loop.Failure, bool),
) {
	length := c.seconds(0.2, 5)
	late := c.w.during(LateAnswers, c.number) && c.random.IntN(2) == 0
	if late {
		length = patience + c.seconds(1, 40)
	}
	lost := c.w.during(LostAnswers, c.number) && c.random.IntN(2) == 0
	x := &call{keys: keys, life: life, plugin: c.plugin, over: c.w.at + length}
	x.answer = answer
	c.calls = append(c.calls, x)
	for _, key := range keys {
		c.lastCall[key] = x.over
	}
	var came outcome
	var failed *loop.Failure
	acts := time.Duration(float64(length) * (0.1 + 0.8*c.random.Float64()))
	c.w.after(acts, func() {
		if x.over < c.w.at && x.over+c.facts.ListSettle <= c.w.at {
			return // the plugin died with the request in it
		}
		came, failed = act(x)
	})
	if late {
		c.w.after(patience, func() {
			if !x.answered {
				x.answered = true
				answer(
					outcome{provision: fleet.ProvisionUnknown, terminate: fleet.TerminateUnknown},
					transient("no answer in time"),
					false,
				)
			}
		})
	}
	c.w.after(length, func() {
		c.calls = slices.DeleteFunc(c.calls, func(other *call) bool { return other == x })
		if x.answered {
			return
		}
		x.answered = true
		if lost {
			came, failed = outcome{
				provision: fleet.ProvisionUnknown,
				terminate: fleet.TerminateUnknown,
			}, transient(
				"the answer was lost",
			)
		}
		answer(came, failed, true)
	})
}

// refusal is why the cloud does nothing now; outcomes of both kinds with it.
func (c *cloud) refusal() (outcome, *loop.Failure) {
	switch {
	case c.w.during(RegionOutage, c.number):
		return outcome{provision: fleet.ProvisionUnknown, terminate: fleet.TerminateUnknown}, transient("503 from the region")
	case c.w.during(Throttled, c.number) && c.random.IntN(2) == 0:
		return outcome{provision: fleet.ProvisionNotCreated, terminate: fleet.TerminateRefused},
			&loop.Failure{Class: fleet.ErrorRateLimit, Message: "too many requests", RetryAfter: c.seconds(1, 20)}
	}
	return outcome{}, nil
}

func (c *cloud) provision(life int, e loop.Provision) {
	answer := func(o outcome, f *loop.Failure, over bool) {
		c.w.manager.deliver(
			life,
			loop.ProvisionAnswered{
				Operation: e.Operation.ID,
				Outcome:   o.provision,
				Resource:  o.resource,
				Failure:   f,
				CallOver:  over,
			},
		)
	}
	if !c.up {
		c.w.after(10*time.Millisecond, func() {
			answer(outcome{provision: fleet.ProvisionNotSent}, transient("no plugin answers"), true)
		})
		return
	}
	key := fleet.OperationID(e.Intent.Tags["forgeyard-key"])
	c.begin(life, []fleet.OperationID{key}, func(x *call) (outcome, *loop.Failure) { return c.create(x, key, e) }, answer)
}

// create is what the cloud does with a request.
func (c *cloud) create(x *call, key fleet.OperationID, e loop.Provision) (outcome, *loop.Failure) {
	if o, f := c.full(); f != nil {
		return o, f
	}
	if c.inventory {
		c.w.hostsAreHeldOnce(key, "asked for")
		r := c.byID(fleet.ProviderInstanceRef(e.Intent.Asset)).Resource
		r.Key = key
		return outcome{provision: fleet.ProvisionExisted, resource: r}, nil
	}
	for _, r := range c.resources {
		// A native token is exact; a plugin that looks for its tag sees what lists
		// show, and that lags.
		if r.Key == key && !r.foreign && !r.copied && !r.part &&
			(c.facts.Idempotency == fleet.IdempotencyNative || c.listed(r)) {
			if r.State == fleet.ResourcePending && r.host == nil {
				c.boot(r)
			}
			return outcome{provision: fleet.ProvisionExisted, resource: r.Resource}, nil
		}
	}
	offer, none := c.pick(e.Intent.Offers)
	if none != nil {
		return outcome{provision: fleet.ProvisionNotCreated}, none
	}
	return outcome{provision: fleet.ProvisionCreated, resource: c.machine(x, key, e.Intent.Tags, offer).Resource}, nil
}

// full is why the cloud makes nothing now.
func (c *cloud) full() (outcome, *loop.Failure) {
	if o, f := c.refusal(); f != nil {
		return o, f
	}
	switch {
	case c.w.during(QuotaUsedUp, c.number):
		return outcome{
				provision: fleet.ProvisionNotCreated,
			}, &loop.Failure{
				Class:   fleet.ErrorQuota,
				Message: "the quota is used up",
			}
	case c.w.during(NoCapacity, c.number):
		return outcome{
				provision: fleet.ProvisionNotCreated,
			}, &loop.Failure{
				Class:   fleet.ErrorCapacity,
				Message: "no capacity in the zone",
			}
	}
	return outcome{}, nil
}

// machine makes one.
func (c *cloud) machine(x *call, key fleet.OperationID, tags map[string]string, offer fleet.Offer) *resource {
	c.made++
	r := &resource{
		created: c.w.at,
		call:    x,
		lag:     time.Duration(c.random.Float64() * float64(c.facts.ListSettle) * 0.99),
		Resource: fleet.Resource{
			ID: fleet.ProviderInstanceRef(
				fmt.Sprintf("vm-%d-%d", c.number, c.made),
			),
			Key:         key,
			State:       fleet.ResourcePending,
			Tags:        tags,
			Attested:    []string{"kvm"},
			Zone:        offer.Zone,
			MachineType: offer.MachineType,
		},
	}
	c.resources = append(c.resources, r)
	c.addVolume(r)
	c.w.say("cloud %s: %s is made for %s", c.address, r.ID, key)
	c.w.checkMade(r)
	if c.w.during(StuckBoots, c.number) && c.random.IntN(3) == 0 {
		return r // it never starts
	}
	c.boot(r)
	return r
}

// boot starts the machine and the agent in it.
func (c *cloud) boot(r *resource) {
	instance := fleet.CapacityInstanceID(r.Tags["forgeyard-capacity-instance"])
	h := newHost(c.w, r, instance)
	r.host = h
	h.liesAtFirst(c.random)
	stuck := c.w.during(StuckBoots, c.number) && c.random.IntN(2) == 0
	c.w.after(c.seconds(1, 15), func() {
		if h.off {
			return
		}
		r.State = fleet.ResourceRunning
		if !stuck {
			c.w.after(c.seconds(2, 12), h.enroll)
		}
	})
}

func (c *cloud) terminate(life int, e loop.Terminate) {
	answer := func(o outcome, f *loop.Failure, _ bool) {
		c.w.manager.deliver(life, loop.TerminateAnswered{Operation: e.Operation, Outcome: o.terminate, Failure: f})
	}
	if !c.up {
		c.w.after(10*time.Millisecond, func() {
			answer(outcome{terminate: fleet.TerminateNotSent}, transient("no plugin answers"), true)
		})
		return
	}
	c.begin(life, []fleet.OperationID{e.Operation}, func(*call) (outcome, *loop.Failure) { return c.delete(e) }, answer)
}

// delete is what the cloud does with a request to remove a resource.
func (c *cloud) delete(e loop.Terminate) (outcome, *loop.Failure) {
	if o, f := c.refusal(); f != nil {
		return o, f
	}
	r := c.byID(e.Resource)
	if r == nil || c.inventory { // the host of a person stays as it is
		return outcome{terminate: fleet.TerminateGone}, nil
	}
	if c.random.IntN(3) > 0 {
		c.remove(r)
		return outcome{terminate: fleet.TerminateGone}, nil
	}
	r.State = fleet.ResourceStopping
	if r.host != nil {
		r.host.stop()
	}
	c.w.after(c.seconds(2, 20), func() {
		if c.byID(e.Resource) == r {
			c.remove(r)
		}
	})
	return outcome{terminate: fleet.TerminateAccepted}, nil
}

// ofKeys is what a list shows of some keys, and which of them it calls absent, as the SDK
// does: those that it neither shows nor has a call for.
func ofKeys(all fleet.Inspection, keys []fleet.OperationID) fleet.Inspection {
	all.Resources = slices.DeleteFunc(all.Resources, func(r fleet.Resource) bool { return !slices.Contains(keys, r.Key) })
	for _, key := range keys {
		shown := slices.ContainsFunc(all.Resources, func(r fleet.Resource) bool { return r.Key == key })
		if !shown && !slices.Contains(all.InFlight, key) {
			all.Absent = append(all.Absent, key)
		}
	}
	return all
}

// inspect answers an inspection, of everything or of some keys.
func (c *cloud) inspect(life int, keys []fleet.OperationID) {
	began := c.w.now()
	out := loop.Inspected{Provider: c.address, Keys: keys, Began: began}
	answer := func() { c.w.manager.deliver(life, out) }
	if !c.up {
		out.Failure = transient("no plugin answers")
		c.w.after(10*time.Millisecond, answer)
		return
	}
	c.looks[began] = look{c.w.store.commits, c.w.at}
	plugin := c.plugin
	// What is in flight is noted first, so that no call falls between.
	for _, x := range c.calls {
		out.Inspection.InFlight = append(out.Inspection.InFlight, x.keys...)
	}
	slices.Sort(out.Inspection.InFlight)
	length := c.seconds(1, 6)
	if c.w.calm {
		length = c.seconds(2, 8)
	}
	c.w.after(length/2, func() {
		out.Inspection.Resources, out.Inspection.Complete = c.list(), true
		if len(keys) > 0 {
			out.Inspection = ofKeys(out.Inspection, keys)
		}
	})
	c.w.after(length, func() {
		part := 0
		if n := len(out.Inspection.Resources); n > 0 {
			part = c.random.IntN(n + 1)
		}
		switch {
		case !c.up || c.plugin != plugin:
			out.Inspection, out.Failure = fleet.Inspection{}, transient("the plugin is gone")
		case c.w.during(RegionOutage, c.number):
			out.Inspection, out.Failure = fleet.Inspection{}, transient("503 from the region")
		case c.w.during(FailingLists, c.number) && c.random.IntN(4) > 0:
			out.Inspection.Resources, out.Inspection.Complete, out.Failure = out.Inspection.Resources[:part], false, transient(
				"page 2 failed",
			)
		case c.w.during(PartialLists, c.number) && c.random.IntN(4) > 0:
			out.Inspection.Resources, out.Inspection.Complete = out.Inspection.Resources[:part], false
		}
		if out.Failure != nil || !out.Inspection.Complete {
			out.Inspection.Absent = nil
		}
		if out.Failure == nil && out.Inspection.Complete && len(keys) == 0 {
			c.delivered = c.looks[began]
		}
		answer()
	})
}
