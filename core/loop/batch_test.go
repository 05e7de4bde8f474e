package loop

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

func TestABatchIsStoredWholeBeforeItsOneCall(t *testing.T) {
	w := newBatchWorld(t, batchFleet(3, 6, 20))
	call := take[ProvisionBatch](w)
	if has[Provision](w) || len(call.Members) != 3 {
		t.Fatalf("%v", w.calls)
	}
	for n, m := range call.Members {
		stored := w.operation(m.Operation.ID)
		want := fleet.BatchPlace{Key: call.Key, Number: n, Size: 3}
		if stored.State != fleet.OperationInProgress || stored.Batch != want ||
			stored.TokenHash != "hash of "+string(call.Key) ||
			stored.TokenExpires.IsZero() {
			t.Errorf("member %d is stored as %+v", n, stored)
		}
		if stored.ID == call.Key || m.Intent.Tags[inventory.KeyTag] != string(stored.ID) ||
			m.Intent.Tags[inventory.ProofTag] == "" {
			t.Errorf("member %d of %s goes out as %s with %v", n, call.Key, stored.ID, m.Intent.Tags)
		}
	}
	w.step(w.run(call))
	w.settle()
	if len(w.live()) != 3 || len(w.cloud) != 3 {
		t.Error(w.describe())
	}
}

func TestWhichInstancesGoOutTogether(t *testing.T) {
	plain, a, b := planner.Request{}, planner.Request{
		Offers: []fleet.Offer{{Zone: "a"}},
	}, planner.Request{
		Offers: []fleet.Offer{{Zone: "b"}},
	}
	probe := planner.Request{Offers: a.Offers, Probes: []market.Scope{{Zone: "a"}}}
	older := planner.Request{Offers: a.Offers, Make: &fleet.Make{}}
	for name, c := range map[string]struct {
		spoil    func(*fleet.ManagedFleet, *fleet.ProviderFacts)
		requests []planner.Request
		want     []int
	}{
		"as many as the fleet says": {nil, []planner.Request{plain, plain, plain, plain, plain}, []int{2, 2, 1}},
		"no more than the plugin takes": {func(f *fleet.ManagedFleet, p *fleet.ProviderFacts) {
			f.Batch, p.MaxBatch = 9, 3
		}, []planner.Request{plain, plain, plain, plain}, []int{3, 1}},
		"one by one by default": {func(f *fleet.ManagedFleet, _ *fleet.ProviderFacts) {
			f.Batch = 0
		}, []planner.Request{plain, plain}, []int{1, 1}},
		"one by one without verified hosts": {func(f *fleet.ManagedFleet, _ *fleet.ProviderFacts) {
			f.Admission.Identity = fleet.IdentityNone
		}, []planner.Request{plain, plain}, []int{1, 1}},
		"one by one where the plugin can't": {func(_ *fleet.ManagedFleet, p *fleet.ProviderFacts) {
			p.Batches = false
		}, []planner.Request{plain, plain}, []int{1, 1}},
		"the same of zones in turn":            {nil, []planner.Request{a, b, a, b, a}, []int{2, 2, 1}},
		"the request that tries for room":      {nil, []planner.Request{probe, a, a}, []int{1, 2}},
		"what is made from another definition": {nil, []planner.Request{a, older, a, older}, []int{2, 2}},
	} {
		f := batchFleet(1, 9, 2)
		w := newBatchWorld(t, f)
		facts := w.facts
		if c.spoil != nil {
			c.spoil(&f, &facts)
		}
		w.loop.provider(local).Facts = &facts
		var got []int
		for _, group := range w.loop.inBatches(f, c.requests) {
			got = append(got, len(group))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: calls of %v, want %v", name, got, c.want)
		}
	}
}

// lostBatch is a batch of three whose answer no one hears.
func lostBatch(t *testing.T) (*world, ProvisionBatch) {
	w := newBatchWorld(t, batchFleet(3, 6, 3))
	w.inspect()
	call := take[ProvisionBatch](w)
	w.step(lost(call, true))
	return w, call
}

func TestABatchWhoseAnswerIsLostIsFoundByInspection(t *testing.T) {
	w, call := lostBatch(t)
	w.makeBatch(call)
	w.settle()
	if len(w.cloud) != 3 || len(w.live()) != 3 || has[ProvisionBatch](w) {
		t.Error(w.describe())
	}
}

func TestABatchThatIsProvenAbsentIsTheSameCallAgain(t *testing.T) {
	w, call := lostBatch(t)
	w.inspect()
	for !has[ProvisionBatch](w) {
		w.wait()
		w.step()
	}
	again := take[ProvisionBatch](w)
	if again.Key != call.Key || asked(again) != asked(call) || again.Members[0].Operation.Attempts != 2 {
		t.Errorf("first\n%s%s\nthen\n%s%s", call.Key, asked(call), again.Key, asked(again))
	}
	w.step(w.run(again))
	w.settle()
	if len(w.cloud) != 3 || len(w.batches) != 1 {
		t.Error(w.describe())
	}
}

func TestABatchOfADeadManagerIsInspectedAndSentAgain(t *testing.T) {
	for name, made := range map[string]bool{"before the call": false, "after the effect": true} {
		t.Run(name, func(t *testing.T) {
			w := newBatchWorld(t, batchFleet(3, 6, 3))
			call := take[ProvisionBatch](w)
			if made {
				w.makeBatch(call)
			}
			w.restart()
			if has[ProvisionBatch](w) {
				t.Fatal("it is sent again without a look")
			}
			w.settle()
			if len(w.cloud) != 3 || len(w.batches) != 1 || w.batches[call.Key] != asked(call) {
				t.Error(w.describe())
			}
		})
	}
}

// A list that lags shows some of a batch. The call for the others is the whole batch
// again, which gives what there is.
func TestOfABatchThatIsListedInPartTheWholeIsAskedForAgain(t *testing.T) {
	w, call := lostBatch(t)
	w.makeBatch(call)
	late := call.Members[2].Operation.ID
	w.hidden[late] = true
	w.inspect()
	for !has[ProvisionBatch](w) {
		w.wait()
		w.step()
	}
	again := take[ProvisionBatch](w)
	if asked(again) != asked(call) || w.operation(call.Members[0].Operation.ID).State != fleet.OperationSucceeded {
		t.Fatalf("asked for\n%s\n%s", asked(again), w.describe())
	}
	w.step(w.run(again))
	delete(w.hidden, late)
	w.settle()
	if len(w.cloud) != 3 || len(w.live()) != 3 {
		t.Error(w.describe())
	}
}

func (w *world) scale(to int) {
	f := w.store.fleets["f1"]
	f.Scaling.Min, f.Scaling.Max, f.Serial = to, max(to, 3), f.Serial+1
	w.store.fleets["f1"] = f
}

// A member that is over has no place in a call that would make it.
func TestABatchThatLostAMemberIsNeverSentAgain(t *testing.T) {
	w, call := lostBatch(t)
	wantDone(t, w.tell(Order{Kind: ResolveNotCreated, Instance: call.Members[1].Operation.Instance}))
	w.settle()
	if slices.Contains(w.calls[1:], batchCall(call)) || w.batches[call.Key] != "" {
		t.Errorf("it is sent again: %v", w.calls)
	}
	for _, m := range call.Members {
		if now := w.store.instances[m.Operation.Instance]; now.Live() ||
			w.operation(m.Operation.ID).State != fleet.OperationNotCreated {
			t.Errorf("%s is %s (%s), its operation %s", now.ID, now.State, now.Reason, w.operation(m.Operation.ID).State)
		}
	}
	if len(w.cloud) != 3 || len(w.live()) != 3 {
		t.Error(w.describe())
	}
}

// Members whose machines are on their way wait for them where the batch isn't sent
// again; who lacks one is no one's failure.
func TestOfABatchThatLostAMemberWhatWasMadeIsKept(t *testing.T) {
	w, call := lostBatch(t)
	w.makeBatch(call)
	slow, gone := call.Members[0].Operation, call.Members[1].Operation
	half := w.cloud[slow.ID]
	half.State = fleet.ResourcePending
	w.cloud[slow.ID] = half
	w.inspect() // the two others boot
	w.scale(2)
	wantDone(t, w.tell(Order{Kind: DrainInstance, Instance: gone.Instance}))
	for range 5 {
		w.inspect()
	}
	if w.operation(slow.ID).State.Open() != true || has[ProvisionBatch](w) {
		t.Fatalf("%s, calls %v", w.describe(), w.calls)
	}
	half.State = fleet.ResourceRunning
	w.cloud[slow.ID] = half
	w.settle()
	for n, m := range call.Members {
		now := w.store.instances[m.Operation.Instance]
		if kept := now.State == fleet.Healthy; kept == (now.ID == gone.Instance) {
			t.Errorf("member %d: %s", n, w.describe())
		}
	}
	if len(w.cloud) != 2 || len(w.batches) != 1 {
		t.Error(w.describe())
	}
}

// Until a batch has gone out it is only ours: what is cancelled leaves it.
func TestMembersThatAreCancelledBeforeTheCallLeaveTheBatch(t *testing.T) {
	w := newBatchWorld(t, batchFleet(34, 34, 2)) // a call more than go out at once
	w.inspect()
	var last fleet.BatchPlace
	for _, i := range w.live() {
		if i.State == fleet.Requested {
			last = w.operation(i.Key).Batch
		}
	}
	if last.Size != 2 {
		t.Fatalf("the last two wait as %+v", last)
	}
	w.scale(33)
	w.step()
	w.settle()
	if got := w.calls[len(w.calls)-1]; !strings.HasPrefix(got, "batch of "+string(last.Key)) ||
		len(strings.Fields(got)) != 4 {
		t.Errorf("the last call is %q, of the batch %+v", got, last)
	}
	if len(w.cloud) != 33 || len(w.batches) != 17 {
		t.Errorf("%d machines of %d batches", len(w.cloud), len(w.batches))
	}
}

func TestABatchThatIsRefusedIsOneFailureOfItsFleet(t *testing.T) {
	w := newBatchWorld(t, batchFleet(3, 6, 3))
	call := take[ProvisionBatch](w)
	w.step(
		answerAll(
			call,
			ProvisionAnswered{
				Outcome:  fleet.ProvisionNotCreated,
				CallOver: true,
				Failure:  &Failure{Class: fleet.ErrorRateLimit, Message: "slow down"},
			},
		),
	)
	if hold := w.last.Holds()["f1"]; !matches(hold.Reason, reason.FailuresInRow{Failures: 1}) ||
		hold.Until.Sub(w.now) > firstBackoff {
		t.Errorf("held by %+v", hold)
	}
	if len(w.live()) != 0 {
		t.Error(w.describe())
	}
}

func TestABatchCountsAsOneCall(t *testing.T) {
	w := newBatchWorld(t, batchFleet(40, 80, 5))
	calls := 0
	for ; has[ProvisionBatch](w); calls++ {
		take[ProvisionBatch](w)
	}
	if calls != 8 || w.loop.callsOn(local) != 8 {
		t.Errorf("%d calls went out, and %d count", calls, w.loop.callsOn(local))
	}
}

// A member that is removed while the call may be running could be made again.
func TestNothingOfABatchIsRemovedWhileItsCallRuns(t *testing.T) {
	w, call := lostBatch(t)
	w.makeBatch(call)
	w.hidden[call.Members[2].Operation.ID] = true
	w.inspect()
	for !has[ProvisionBatch](w) {
		w.wait()
		w.step()
	}
	wantDone(t, w.tell(Order{Kind: DrainInstance, Instance: call.Members[0].Operation.Instance}))
	w.pass(time.Minute, w.all)
	if has[Terminate](w) {
		t.Fatalf("%v", w.calls)
	}
	w.step(w.run(take[ProvisionBatch](w)))
	clear(w.hidden)
	w.settle()
	if len(w.cloud) != 3 {
		t.Error(w.describe())
	}
}

// The hosts of a batch have one token: which of them enrolled is known by evidence
// alone, whatever the fleet asks for by then.
func TestAHostOfABatchIsAdmittedByItsVerifiedIdentityAlone(t *testing.T) {
	w := newBatchWorld(t, batchFleet(2, 2, 2))
	w.step(w.run(take[ProvisionBatch](w)))
	w.inspect()
	f := w.store.fleets["f1"]
	f.Admission.Identity, f.Serial = fleet.IdentityNone, f.Serial+1
	w.store.fleets["f1"] = f
	live := w.live()
	stranger, other := w.enroll(live[0]), w.enroll(live[1])
	w.beat(stranger, func(r *fleet.Runner) { r.Identity = fleet.VerifiedIdentity{} })
	w.beat(other, func(r *fleet.Runner) { r.Identity.Resource = w.store.instances[live[0].ID].ProviderInstance })
	w.step()
	if got := w.store.instances[live[0].ID]; got.Admission.State != fleet.AdmissionRejected {
		t.Errorf("without evidence it is %s: %+v", got.State, got.Admission)
	}
	if got := w.store.instances[live[1].ID]; got.Admission.State != fleet.AdmissionQuarantined {
		t.Errorf("with another's evidence it is %s: %+v", got.State, got.Admission)
	}
}
