package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// world is a manager, its store and its provider, driven by hand: a test says of each
// effect when it is carried out and what comes of it. The provider is not shared with other
// packages: these tests are within the package, and a shared one would import it.
type world struct {
	t     testing.TB
	now   time.Time
	ids   int
	store *fakeStore
	loop  *Loop
	facts fleet.ProviderFacts
	cloud map[fleet.OperationID]fleet.Resource
	// batches are those that were made, with what was asked for.
	batches map[fleet.OperationID]string
	// twins are resources that carry a key a second time.
	twins []fleet.Resource
	// others are whatever else is listed: strangers, volumes, addresses.
	others []fleet.Resource
	// held are resources that can't be removed, with the reason.
	held map[fleet.ProviderInstanceRef]string
	// keys prove what is ours.
	keys ownership.Keyring
	// hidden keys are made but not listed yet.
	hidden map[fleet.OperationID]bool
	// inFlight keys have a call running inside the plugin.
	inFlight map[fleet.OperationID]bool
	// offers are what its market has.
	offers []fleet.Offer
	// ci is the scheduler of the fleets that have one.
	ci *simpleScheduler
	// effects are those that no one has run yet.
	effects []Effect
	// calls is every Provision and Terminate that went out, in words.
	calls []string
	last  Result
}

const local = fleet.ProviderAddress("local.here")

func demoFleet(min, max int) fleet.ManagedFleet {
	return fleet.ManagedFleet{
		ID: "f1", Operational: fleet.FleetActive, Serial: 1,
		RunnerFleet: fleet.RunnerFleet{
			Address:  "fleet.demo",
			Provider: local,
			Instance: json.RawMessage(`{}`),
			Class: fleet.CapacityClass{
				Name:         "c",
				Platform:     fleet.Platform{OS: "linux", Arch: "x86_64"},
				Trust:        "standard",
				Capabilities: []string{"git"},
			},
			Scaling:   fleet.ScalingPolicy{Min: min, Max: max},
			Timeouts:  fleet.DefaultTimeouts(),
			Admission: fleet.AdmissionPolicy{JobIsolation: fleet.JobIsolationNone},
		},
	}
}

func newWorld(t testing.TB, fleets ...fleet.ManagedFleet) *world {
	w := &world{
		t:        t,
		now:      time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
		store:    newFakeStore(fleets...),
		keys:     keyring(1),
		facts:    fleet.ProviderFacts{Plugin: "local", Idempotency: fleet.IdempotencyByTag, Ownership: fleet.OwnershipNamed},
		ci:       newSimpleScheduler(),
		cloud:    map[fleet.OperationID]fleet.Resource{},
		batches:  map[fleet.OperationID]string{},
		hidden:   map[fleet.OperationID]bool{},
		inFlight: map[fleet.OperationID]bool{},
	}
	w.restart()
	return w
}

// restart is a new manager process on the same store: effects that no one ran
// are lost with the old one.
func (w *world) restart() {
	w.effects = nil
	w.loop = New(w.store, enrollment{}, Settings{
		Installation: "demo", AgentVersion: "0.1.0", Started: w.now, Ownership: func() ownership.Keyring { return w.keys },
		NewID:  func(time.Time) (string, error) { w.ids++; return fmt.Sprintf("id%06d", w.ids), nil },
		Needed: w.store.Needed,
	})
	w.step(ProviderReady{Provider: local, Facts: w.facts})
}

// step runs one step; effects pile up until somebody runs them.
func (w *world) step(events ...Event) Result {
	w.t.Helper()
	w.now = w.now.Add(time.Millisecond)
	res, err := w.loop.Step(w.t.Context(), w.now, events)
	if err != nil {
		w.t.Fatalf("step: %v", err)
	}
	w.took(res)
	return res
}

// took takes in the result of a step.
func (w *world) took(res Result) {
	w.last = res
	w.effects = append(w.effects, res.Effects...)
	for _, e := range res.Effects {
		switch e := e.(type) {
		case Provision:
			w.calls = append(w.calls, "provision "+string(e.Operation.ID))
		case ProvisionBatch:
			w.calls = append(w.calls, batchCall(e))
		case Terminate:
			call := "terminate " + string(e.Key)
			if e.Resource != "vm-"+fleet.ProviderInstanceRef(e.Key) {
				call = "terminate " + string(e.Resource)
			}
			w.calls = append(w.calls, call)
		}
	}
}

// take removes and returns the first waiting effect of a kind.
func take[E Effect](w *world) E {
	w.t.Helper()
	for n, e := range w.effects {
		if found, ok := e.(E); ok {
			w.effects = slices.Delete(w.effects, n, n+1)
			return found
		}
	}
	var none E
	w.t.Fatalf("no %T effect waits; there are %v", none, w.effects)
	return none
}

// has says whether an effect of a kind waits.
func has[E Effect](w *world) bool {
	return slices.ContainsFunc(w.effects, func(e Effect) bool { _, ok := e.(E); return ok })
}

// make is what the provider does with a provision call.
func (w *world) make(p Provision) fleet.Resource {
	if res, ok := w.cloud[p.Operation.ID]; ok {
		if res.State == fleet.ResourcePending { // half made
			res.State = fleet.ResourceRunning
			w.cloud[p.Operation.ID] = res
		}
		return res
	}
	res := fleet.Resource{
		ID:    fleet.ProviderInstanceRef("vm-" + p.Operation.ID),
		Key:   p.Operation.ID,
		State: fleet.ResourceRunning,
		Tags:  p.Intent.Tags,
	}
	w.cloud[p.Operation.ID] = res
	return res
}

// look answers an Inspect effect with everything that is listed now.
func (w *world) look() Inspected {
	e := Inspected{Provider: local, Began: w.now, Inspection: fleet.Inspection{Complete: true}}
	for _, key := range slices.Sorted(maps.Keys(w.cloud)) {
		if !w.hidden[key] {
			e.Inspection.Resources = append(e.Inspection.Resources, w.cloud[key])
		}
	}
	e.Inspection.Resources = append(append(e.Inspection.Resources, w.twins...), w.others...)
	e.Inspection.InFlight = slices.Sorted(maps.Keys(w.inFlight))
	return e
}

// wait lets time pass until the loop wants to wake.
func (w *world) wait() {
	if w.last.Wake.After(w.now) {
		w.now = w.last.Wake
	}
}

// pass lets time pass in steps, as a loop that runs does: inspections that fall
// due are answered, and listen is what agents do meanwhile.
func (w *world) pass(d time.Duration, listen func()) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(min(20*time.Second, end.Sub(w.now)))
		if listen != nil {
			listen()
		}
		w.inspectIfDue()
		w.step()
	}
}

// all is every live agent beating.
func (w *world) all() {
	for _, i := range w.live() {
		w.behave(i)
	}
}

// inspect lets time pass until an inspection is due, and answers it.
func (w *world) inspect() Result {
	w.t.Helper()
	for range 10 {
		if has[Inspect](w) {
			take[Inspect](w)
			w.now = w.now.Add(time.Microsecond)
			return w.step(w.look())
		}
		w.wait()
		w.step()
	}
	w.t.Fatal("no inspection became due")
	return Result{}
}

// enroll is an agent that enrolls and beats once with everything in order.
func (w *world) enroll(i fleet.CapacityInstance) fleet.RunnerID {
	id := fleet.RunnerID("runner-" + i.ID)
	w.store.runners[id] = fleet.Runner{
		Identity:     fleet.VerifiedIdentity{Kind: "aws", Resource: w.cloud[i.Key].ID, Verified: w.now},
		ID:           id,
		Instance:     i.ID,
		Fleet:        i.Fleet,
		Operation:    i.Key,
		KeyHash:      "sha256:0123456789abcdef",
		Enrolled:     w.now,
		Address:      "127.0.0.1",
		AgentVersion: "0.1.0",
		Platform:     fleet.Platform{OS: "linux", Arch: "x86_64"},
		Beats:        1,
		LastBeat:     w.now,
		Report: fleet.AgentReport{
			Phase:      fleet.PhaseIdle,
			GroupEmpty: true,
			Isolation:  "none",
			Probes:     map[string]fleet.Probe{"git": {OK: true, Evidence: "git 2"}},
		},
	}
	return id
}

// beat changes what a runner reports.
func (w *world) beat(id fleet.RunnerID, change func(*fleet.Runner)) {
	r := w.store.runners[id]
	w.now = w.now.Add(time.Millisecond)
	r.Beats, r.LastBeat = r.Beats+1, w.now
	change(&r)
	w.store.runners[id] = r
}

// settle runs everything as it should go until nothing is on its way. A person
// takes up the rollouts that were halted.
func (w *world) settle() {
	w.t.Helper()
	for range 2000 {
		w.takeUp()
		var events []Event
		for _, e := range w.effects {
			events = append(events, w.run(e))
		}
		w.effects = nil
		for _, i := range w.store.instances {
			w.behave(i)
		}
		if w.step(events...); w.last.Settled && len(w.effects) == 0 {
			return
		}
		if len(w.effects) == 0 {
			w.wait()
		}
	}
	w.t.Fatalf("not settled: %s", w.describe())
}

func (w *world) takeUp() {
	for id, known := range w.store.rollouts {
		if known.Halted != nil {
			w.store.overrides.Rollouts = []fleet.RolloutOrder{
				{Fleet: id, Action: fleet.ResumeRollout, Attribution: fleet.Attribution{By: "ada", At: w.now}},
			}
		}
	}
}

// run carries out an effect as a healthy provider does.
func (w *world) run(e Effect) Event {
	switch e := e.(type) {
	case Inspect:
		w.now = w.now.Add(time.Microsecond)
		return w.look()
	case Provision:
		return ProvisionAnswered{
			Operation: e.Operation.ID,
			Outcome:   fleet.ProvisionCreated,
			Resource:  w.make(e),
			CallOver:  true,
		}
	case ProvisionBatch:
		return w.makeBatch(e)
	case ListOffers:
		return OffersListed{Market: e.Market, List: fleet.OfferList{Offers: w.offers}}
	case Terminate:
		if why, held := w.held[e.Resource]; held {
			return TerminateAnswered{
				Operation: e.Operation,
				Outcome:   fleet.TerminateRefused,
				Failure:   &Failure{Class: fleet.ErrorConflict, Message: why},
			}
		}
		w.end(e)
		return TerminateAnswered{Operation: e.Operation, Outcome: fleet.TerminateGone}
	}
	if event := w.ci.run(w, e); event != nil {
		return event
	}
	panic(fmt.Sprintf("unknown effect %T", e))
}

// end removes what a terminate call names.
func (w *world) end(e Terminate) {
	if w.cloud[e.Key].ID == e.Resource {
		delete(w.cloud, e.Key)
	}
	named := func(res fleet.Resource) bool { return res.ID == e.Resource }
	w.twins, w.others = slices.DeleteFunc(w.twins, named), slices.DeleteFunc(w.others, named)
}

// behave is an agent that does what it is told.
func (w *world) behave(i fleet.CapacityInstance) {
	alive := w.cloud[i.Key].State == fleet.ResourceRunning
	id := fleet.RunnerID("runner-" + i.ID)
	r, enrolled := w.store.runners[id]
	switch {
	case !alive || !i.Live():
	// no one can tell yet which host it is
	case !enrolled && w.store.operations[i.Key].Batch.Key != "" && i.ProviderInstance == "":
	case !enrolled && (i.State == fleet.Bootstrapping || i.State == fleet.Provisioning):
		w.enroll(i)
	case enrolled && lifecycle.InstructionFor(i) == lifecycle.Stop && r.Report.Phase != fleet.PhaseRunning:
		w.stop(i)
	case enrolled:
		w.beat(id, func(r *fleet.Runner) { w.hear(r, i) })
	}
}

// hear lets an agent read what it is told.
func (w *world) hear(r *fleet.Runner, i fleet.CapacityInstance) {
	i = w.store.instances[i.ID]
	r.Report.Heard, r.Report.Order = string(lifecycle.InstructionFor(i)), lifecycle.OrderOf(i)
}

// stop is an agent that reads that it should stop, and has no job.
func (w *world) stop(i fleet.CapacityInstance) {
	w.beat(i.Runner, func(r *fleet.Runner) {
		w.hear(r, i)
		r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseStopped, true
	})
}

// only returns the one live instance.
func (w *world) only() fleet.CapacityInstance {
	w.t.Helper()
	live := w.live()
	if len(live) != 1 {
		w.t.Fatalf("%d live instances, want 1: %s", len(live), w.describe())
	}
	return live[0]
}

func (w *world) live() []fleet.CapacityInstance {
	var out []fleet.CapacityInstance
	for _, id := range slices.Sorted(maps.Keys(w.store.instances)) {
		if i := w.store.instances[id]; i.Live() {
			out = append(out, i)
		}
	}
	return out
}

// termination is the operation that ends an instance.
func (w *world) termination(id fleet.CapacityInstanceID) fleet.Operation {
	for _, op := range w.store.operations {
		if op.Kind == fleet.TerminateOperation && op.Instance == id {
			return op
		}
	}
	return fleet.Operation{}
}

func (w *world) operation(id fleet.OperationID) fleet.Operation { return w.store.operations[id] }

func (w *world) describe() string {
	out := fmt.Sprintf("calls %v, cloud %d,", w.calls, len(w.cloud))
	for _, i := range w.live() {
		out += fmt.Sprintf(
			" %s %s (%s; op %s %s; %s)",
			i.ID,
			i.State,
			i.Reason,
			w.operation(i.Key).State,
			w.operation(i.Key).Reason,
			i.Conflict,
		)
		for _, op := range w.store.operations {
			if op.Kind == fleet.TerminateOperation && op.Instance == i.ID {
				out += fmt.Sprintf(
					" [terminate %s, %d tries, not before %s: %s]",
					op.State,
					op.Attempts,
					op.NotBefore.Format(time.TimeOnly),
					op.Reason,
				)
			}
		}
	}
	return out
}

var errFenced = errors.New("another writer took over")
