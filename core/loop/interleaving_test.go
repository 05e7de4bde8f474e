package loop

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

var interleavings = flag.Int(
	"interleavings",
	150,
	"how many seeds of random interleavings to run; make test takes 1000",
)

// TestRandomInterleavingsConverge lets answers get lost and come late, managers
// die, lists fail, agents stall and the file change, in an order drawn from a
// seed. After every step nothing may be doubled, above max or ended under a job;
// once the faults stop, exactly the desired instances stand.
func TestRandomInterleavingsConverge(t *testing.T) {
	for seed := range uint64(*interleavings) {
		c := newChaos(t, seed, 1)
		if seed%2 == 0 {
			c.facts.Ownership = fleet.OwnershipSigned
		}
		c.step(ProviderReady{Provider: local, Facts: c.facts})
		for range 120 {
			c.act()
			c.check()
		}
		c.calm()
	}
}

// chaos is a world in which everything that may go wrong does at times.
type chaos struct {
	*world
	ambiguous *ambiguous
	random    *rand.Rand
	seed      uint64
	// running are the calls that the plugin works on.
	running []Effect
	// listedAt is when a list that lags begins to show a new resource.
	listedAt map[fleet.OperationID]time.Time
	// jobs are the runners with a job, whether or not they have said so; heard
	// are those that have read that they should stop, told those whose answer
	// that says so is still on its way.
	jobs, told, heard map[fleet.RunnerID]bool
	// answer is what the last beat was answered, last what the agent has read.
	answer, last map[fleet.RunnerID]order
	story        []string
	// resent counts the batches that went out once more.
	resent int
}

// order is an instruction with its name.
type order struct{ want, order string }

func (c *chaos) fatalf(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("seed %d: %s\n%s\nstory: %v", c.seed, fmt.Sprintf(format, args...), c.describe(), c.story)
}

func (c *chaos) tell(format string, args ...any) {
	c.story = append(c.story, fmt.Sprintf(format, args...))
}

// act does one random thing.
func (c *chaos) act() {
	switch n := c.random.IntN(100); {
	case n < 30:
		c.runEffect()
	case n < 45:
		c.finishCall()
	case n < 65:
		c.agent()
	case n < 80:
		c.tell("time")
		c.now = c.now.Add(time.Duration(c.random.IntN(8)) * time.Second)
		c.step()
	case n < 82:
		d := time.Duration(c.random.IntN(20)) * time.Minute
		c.tell("%s pass", d)
		c.now = c.now.Add(d)
		c.step()
	case n < 83:
		c.tell("the next commit is stored and fails")
		c.ambiguous.armed = true
	case n < 85:
		c.wait()
		c.step()
	case n < 88:
		c.tell("crash")
		for len(c.running) > 0 { // the dead manager's plugin ends before the next starts
			c.finish(c.random.IntN(2) == 0, true)
		}
		c.restart()
	case n < 92:
		f := c.store.fleets["f1"]
		f.Scaling.Min, f.Serial = c.random.IntN(5), f.Serial+1
		c.tell("min %d", f.Scaling.Min)
		c.store.fleets["f1"] = f
	case n < 94:
		f := c.store.fleets["f1"]
		f.Immutable, f.Serial = fmt.Appendf(nil, `{"nice":%d}`, c.random.IntN(2)), f.Serial+1
		c.store.fleets["f1"] = f
	default:
		c.die()
	}
}

// restart is a new manager on the store whose commits may fail.
func (c *chaos) restart() {
	c.world.restart()
	c.loop.store = c.ambiguous
}

// step may fail once: what a failed step returns doesn't count, and the next one
// finds out what was stored.
func (c *chaos) step(events ...Event) Result {
	c.now = c.now.Add(time.Millisecond)
	res, err := c.loop.Step(c.t.Context(), c.now, events)
	if err == nil {
		c.took(res)
		return res
	}
	if !errors.Is(err, errFenced) {
		c.fatalf("step: %v", err)
	}
	c.tell("a commit failed")
	return c.world.step()
}

// runEffect takes any waiting effect to the provider.
func (c *chaos) runEffect() {
	if len(c.effects) == 0 {
		c.step()
		return
	}
	n := c.random.IntN(len(c.effects))
	e := c.effects[n]
	c.effects = slices.Delete(c.effects, n, n+1)
	if _, ok := e.(Inspect); ok {
		c.answerInspect()
		return
	}
	c.tell("begin %s", word(e))
	c.running = append(c.running, e)
	for _, p := range provisionsIn(e) {
		c.inFlight[p.Operation.ID] = true
	}
	if c.random.IntN(4) == 0 { // our deadline passes while the plugin works on
		c.tell("deadline %s", word(e))
		c.step(lost(e, false))
	}
}

func (c *chaos) answerInspect() {
	c.hideNew()
	e := c.look()
	e.Began = e.Began.Add(time.Microsecond)
	c.now = c.now.Add(time.Duration(c.random.IntN(3)) * time.Second)
	switch c.random.IntN(5) {
	case 0:
		e.Failure = &Failure{Class: fleet.ErrorTransient, Message: "page 2 failed"}
		e.Inspection.Complete = false
		e.Inspection.Resources = e.Inspection.Resources[:c.random.IntN(len(e.Inspection.Resources)+1)]
	case 1:
		e.Inspection.Complete = false
		e.Inspection.Resources = nil
	}
	c.tell("inspect complete=%v n=%d", e.Inspection.Complete, len(e.Inspection.Resources))
	c.step(e)
}

// hideNew hides what the provider's list may still miss.
func (c *chaos) hideNew() {
	clear(c.hidden)
	for key := range c.cloud {
		if at, ok := c.listedAt[key]; ok && at.After(c.now) {
			c.hidden[key] = true
		}
	}
}

func (c *chaos) finishCall() {
	if len(c.running) == 0 {
		c.step()
		return
	}
	c.finish(c.random.IntN(3) > 0, false)
}

// finish ends a call that the plugin works on; done says that it took effect,
// silent that no one hears of it.
func (c *chaos) finish(done, silent bool) {
	n := c.random.IntN(len(c.running))
	e := c.running[n]
	c.running = slices.Delete(c.running, n, n+1)
	c.tell("finish %s done=%v silent=%v", word(e), done, silent)
	var answer Event
	switch e := e.(type) {
	case Provision:
		delete(c.inFlight, e.Operation.ID)
		half := !done && c.random.IntN(4) == 0 && c.cloud[e.Operation.ID].Key == ""
		if half { // it broke off between the making and the start
			c.tell("half made")
			res := c.make(e)
			res.State = fleet.ResourcePending
			c.cloud[e.Operation.ID] = res
		}
		if done || half {
			if c.listedAt == nil {
				c.listedAt = map[fleet.OperationID]time.Time{}
			}
			c.listedAt[e.Operation.ID] = c.now.Add(c.facts.ListSettle)
		}
		answer = lost(e, true)
		switch {
		case done && c.random.IntN(3) > 0:
			answer = c.run(e)
		case done:
			c.run(e)
		case c.random.IntN(3) == 0 && c.cloud[e.Operation.ID].Key == "":
			answer = ProvisionAnswered{
				Operation: e.Operation.ID,
				Outcome:   fleet.ProvisionNotCreated,
				Failure:   &Failure{Class: fleet.ErrorCapacity, Message: "full"},
				CallOver:  true,
			}
		}
	case ProvisionBatch:
		answer = c.finishBatch(e, done)
	case Terminate:
		answer = lost(e, true)
		if done && c.random.IntN(3) == 0 { // it took effect; the answer comes later
			c.run(e)
			c.running = append(c.running, e)
			c.tell("gone, not answered")
			return
		}
		if done {
			if i := c.instance(e.Key); c.jobOn(i) {
				c.fatalf("%s was ended under a job", i.ID)
			}
			answer = c.run(e)
		}
	}
	if !silent {
		c.step(answer)
	}
}

func (c *chaos) instance(key fleet.OperationID) fleet.CapacityInstance {
	for _, i := range c.store.instances {
		if i.Key == key {
			return i
		}
	}
	return fleet.CapacityInstance{}
}

func (c *chaos) jobOn(i fleet.CapacityInstance) bool {
	return c.jobs[i.Runner]
}

func lost(e Effect, over bool) Event {
	f := &Failure{Class: fleet.ErrorTransient, Message: "lost"}
	if p, ok := e.(Provision); ok {
		return ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: f, CallOver: over}
	}
	if b, ok := e.(ProvisionBatch); ok {
		return answerAll(b, ProvisionAnswered{Outcome: fleet.ProvisionUnknown, Failure: f, CallOver: over})
	}
	return TerminateAnswered{Operation: e.(Terminate).Operation, Outcome: fleet.TerminateUnknown, Failure: f}
}

func word(e Effect) string {
	switch e := e.(type) {
	case Provision:
		return "provision " + string(e.Operation.ID)
	case ProvisionBatch:
		return batchCall(e)
	case Terminate:
		return "terminate " + string(e.Key)
	}
	return "inspect"
}

// agent lets a random agent do something: enroll, begin or end a job, stop.
func (c *chaos) agent() {
	live := c.live()
	if len(live) == 0 {
		c.step()
		return
	}
	i := live[c.random.IntN(len(live))]
	switch {
	case c.cloud[i.Key].State != fleet.ResourceRunning: // a host that is off says nothing
	case i.Runner == "":
		c.behave(i)
	case i.State != fleet.Healthy && i.State != fleet.Draining && i.State != fleet.Terminating:
		c.behave(i)
	case i.Admission.State == fleet.AdmissionVerified && !c.jobs[i.Runner] && !c.heard[i.Runner] && c.random.IntN(3) == 0:
		c.tell("job begins on %s", i.ID)
		c.jobs[i.Runner] = true
	case c.told[i.Runner] && !c.heard[i.Runner]:
		c.heard[i.Runner] = true
		c.last[i.Runner] = c.answer[i.Runner]
	case c.jobs[i.Runner] && c.random.IntN(3) == 0:
		c.tell("job ends on %s", i.ID)
		c.jobs[i.Runner] = false
	default:
		c.report(i)
	}
	c.step()
}

// report is a heartbeat: the agent says what is true, and only later reads what
// it was told; it may begin a job in between.
func (c *chaos) report(i fleet.CapacityInstance) {
	c.beat(i.Runner, func(r *fleet.Runner) {
		r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseIdle, true
		switch {
		case c.jobs[i.Runner]:
			r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseRunning, false
		case c.heard[i.Runner]:
			r.Report.Phase = fleet.PhaseStopped
		}
		r.Report.Heard, r.Report.Order = c.last[i.Runner].want, c.last[i.Runner].order
		c.tell("%s reports %s", i.ID, r.Report.Phase)
	})
	now := c.store.instances[i.ID]
	c.told[i.Runner] = lifecycle.InstructionFor(now) == lifecycle.Stop
	c.answer[i.Runner] = order{string(lifecycle.InstructionFor(now)), lifecycle.OrderOf(now)}
}

// die powers a random resource off.
func (c *chaos) die() {
	keys := slices.Sorted(maps.Keys(c.cloud))
	if len(keys) == 0 {
		return
	}
	key := keys[c.random.IntN(len(keys))]
	if c.jobOn(c.instance(key)) {
		return
	}
	c.tell("power off %s", key)
	res := c.cloud[key]
	res.State = fleet.ResourceStopped
	c.cloud[key] = res
}

// check holds the invariants that are true at every moment.
func (c *chaos) check() {
	if n := len(c.live()); n > c.store.fleets["f1"].Scaling.Max {
		c.fatalf("%d instances are on the books, max is 4", n)
	}
	for key := range c.cloud {
		if i := c.instance(key); !i.Live() {
			c.fatalf("resource of %s is left behind by the %s %s", key, i.State, i.ID)
		}
	}
	for _, i := range c.live() {
		if !i.Conflict.IsZero() {
			c.fatalf("conflict on %s: %s", i.ID, i.Conflict)
		}
	}
}

// calm ends all faults and jobs, and expects exactly the desired instances.
func (c *chaos) calm() {
	c.ambiguous.armed = false
	for len(c.running) > 0 {
		c.finish(true, false)
	}
	clear(c.hidden)
	clear(c.jobs)
	for id := range c.store.runners {
		c.beat(id, func(r *fleet.Runner) { r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseIdle, true })
	}
	c.settle()
	if c.world.last.Calls != 0 {
		c.fatalf("%d calls are under way", c.world.last.Calls)
	}
	for _, i := range c.live() {
		if op := c.operation(i.Key); op.State.Open() {
			c.fatalf("the operation of %s is %s", i.ID, op.State)
		}
	}
	want := c.store.fleets["f1"].Scaling.Min
	if len(c.live()) != want || len(c.cloud) != want {
		c.fatalf("%d instances and %d resources, want %d of both", len(c.live()), len(c.cloud), want)
	}
	for _, i := range c.live() {
		if i.State != fleet.Healthy {
			c.fatalf("%s is %s", i.ID, i.State)
		}
	}
}
