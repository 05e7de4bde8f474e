package loop

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// begun is a world in which the first provision call has just gone out.
func begun(t *testing.T, facts func(*fleet.ProviderFacts)) (*world, Provision) {
	w := newWorld(t, demoFleet(1, 2))
	if facts != nil {
		facts(&w.facts)
		w.step(ProviderReady{Provider: local, Facts: w.facts})
	}
	return w, take[Provision](w)
}

func TestIntentIsStoredBeforeTheCall(t *testing.T) {
	w, p := begun(t, nil)
	op := w.operation(p.Operation.ID)
	if op.State != fleet.OperationInProgress || op.Attempts != 1 || len(op.Request) == 0 || op.TokenHash == "" {
		t.Errorf("stored before the call: %+v", op)
	}
	if i := w.only(); i.State != fleet.Provisioning || i.Key != p.Operation.ID {
		t.Errorf("instance before the call: %+v", i)
	}
}

func TestProvisionOutcomes(t *testing.T) {
	lost := &Failure{Class: fleet.ErrorTransient, Message: "connection reset"}
	settle := func(f *fleet.ProviderFacts) { f.ListSettle = 10 * time.Second }
	tests := []struct {
		name  string
		facts func(*fleet.ProviderFacts)
		story func(w *world, p Provision)
		// want is the state of the first operation at the end; resent says that
		// its key went out again.
		want   fleet.OperationState
		resent bool
		cloud  int
	}{
		{name: "created and answered", want: fleet.OperationSucceeded, cloud: 1,
			story: func(w *world, p Provision) { w.step(w.run(p)) }},
		{name: "created but the answer is lost: found by inspection and adopted", want: fleet.OperationSucceeded, cloud: 1,
			story: func(w *world, p Provision) {
				w.make(p)
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost, CallOver: true})
				w.inspect()
			}},
		{
			name:   "broken off with the resource half made: the same key goes out again and finishes it",
			want:   fleet.OperationSucceeded,
			resent: true,
			cloud:  1,
			story: func(w *world, p Provision) {
				half := w.make(p)
				half.State = fleet.ResourcePending
				w.cloud[p.Operation.ID] = half
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost, CallOver: true})
				w.inspect()
				w.now = w.now.Add(2 * time.Second)
				w.step()
				half.State = fleet.ResourceRunning
				w.cloud[p.Operation.ID] = half
				w.step(
					ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionExisted, Resource: half, CallOver: true},
				)
				if i := w.only(); i.State != fleet.Bootstrapping {
					w.t.Errorf("the instance is %s", i.State)
				}
			},
		},
		{name: "a half made resource is left alone while its call may still run", want: fleet.OperationPending, cloud: 1,
			story: func(w *world, p Provision) {
				half := w.make(p)
				half.State = fleet.ResourcePending
				w.cloud[p.Operation.ID] = half
				w.inFlight[p.Operation.ID] = true
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost})
				w.inspect()
				if op := w.operation(p.Operation.ID); op.State != fleet.OperationUnknown {
					w.t.Errorf("the operation is %s while its call may still run", op.State)
				}
				delete(w.inFlight, p.Operation.ID)
				w.inspect()
			}},
		{
			name:  "a provider that can't repeat a request has what is half made adopted",
			facts: func(f *fleet.ProviderFacts) { f.Idempotency = fleet.IdempotencyNone },
			want:  fleet.OperationSucceeded,
			cloud: 1,
			story: func(w *world, p Provision) {
				half := w.make(p)
				half.State = fleet.ResourcePending
				w.cloud[p.Operation.ID] = half
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost, CallOver: true})
				w.inspect()
			},
		},
		{
			name:   "never reached the provider: proven absent, the same key goes out again",
			want:   fleet.OperationInProgress,
			resent: true,
			story: func(w *world, p Provision) {
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost, CallOver: true})
				w.inspect()
				w.now = w.now.Add(2 * time.Second)
				w.step()
			},
		},
		{name: "an answer without an outcome is unknown", want: fleet.OperationUnknown,
			story: func(w *world, p Provision) { w.step(ProvisionAnswered{Operation: p.Operation.ID, CallOver: true}) }},
		{name: "late: the call still runs in the plugin, so absence proves nothing", want: fleet.OperationUnknown,
			story: func(w *world, p Provision) {
				w.inFlight[p.Operation.ID] = true
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost})
				w.inspect()
				w.inspect()
			}},
		{name: "late: it appears after the call is over", want: fleet.OperationSucceeded, cloud: 1,
			story: func(w *world, p Provision) {
				w.inFlight[p.Operation.ID] = true
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost})
				w.inspect()
				delete(w.inFlight, p.Operation.ID)
				w.make(p)
				w.inspect()
			}},
		{name: "settle time counts from the end of the call, not from its start", facts: settle, want: fleet.OperationUnknown,
			story: func(w *world, p Provision) {
				w.now = w.now.Add(time.Minute) // a slow call
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost, CallOver: true})
				w.inspect()
			}},
		{
			name:  "listed late within the settle time: adopted, not made twice",
			facts: settle,
			want:  fleet.OperationSucceeded,
			cloud: 1,
			story: func(w *world, p Provision) {
				w.make(p)
				w.hidden[p.Operation.ID] = true
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost, CallOver: true})
				w.inspect()
				delete(w.hidden, p.Operation.ID)
				w.now = w.now.Add(20 * time.Second)
				w.inspect()
			},
		},
		{name: "an incomplete list proves no absence", want: fleet.OperationUnknown,
			story: func(w *world, p Provision) {
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost, CallOver: true})
				w.step(Inspected{Provider: local, Began: w.now, Inspection: fleet.Inspection{}, Failure: lost})
			}},
		{name: "an incomplete list still shows what it shows", want: fleet.OperationSucceeded, cloud: 1,
			story: func(w *world, p Provision) {
				res := w.make(p)
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost, CallOver: true})
				w.step(
					Inspected{
						Provider:   local,
						Began:      w.now,
						Inspection: fleet.Inspection{Resources: []fleet.Resource{res}},
						Failure:    lost,
					},
				)
			}},
		{name: "refused: nothing was created", want: fleet.OperationNotCreated,
			story: func(w *world, p Provision) {
				w.step(
					ProvisionAnswered{
						Operation: p.Operation.ID,
						Outcome:   fleet.ProvisionNotCreated,
						Failure:   &Failure{Class: fleet.ErrorCapacity, Message: "no hosts"},
						CallOver:  true,
					},
				)
			}},
		{name: "accepted: the order shows up in an inspection", want: fleet.OperationSucceeded, cloud: 1,
			story: func(w *world, p Provision) {
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionAccepted, CallOver: true})
				w.make(p)
				w.inspect()
			}},
		{name: "a provider that can't repeat a request is held for a person",
			facts: func(f *fleet.ProviderFacts) { f.Idempotency = fleet.IdempotencyNone }, want: fleet.OperationUnknown,
			story: func(w *world, p Provision) {
				w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, Failure: lost, CallOver: true})
				w.inspect()
				w.inspect()
				if i := w.only(); !reason.Is[reason.CannotRepeat](i.Conflict) {
					w.t.Errorf("conflict = %q", i.Conflict)
				}
			}},
		{
			name:   "the manager dies before the call: absent, the same key goes out again",
			want:   fleet.OperationInProgress,
			resent: true,
			story: func(w *world, p Provision) {
				w.restart()
				w.inspect()
				w.now = w.now.Add(2 * time.Second)
				w.step()
			},
		},
		{name: "the manager dies after the call: adopted", want: fleet.OperationSucceeded, cloud: 1,
			story: func(w *world, p Provision) {
				w.make(p)
				w.restart()
				w.inspect()
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, p := begun(t, tt.facts)
			tt.story(w, p)
			op := w.operation(p.Operation.ID)
			if op.State != tt.want {
				t.Errorf("operation is %s (%s), want %s", op.State, op.Reason, tt.want)
			}
			if len(w.cloud) != tt.cloud {
				t.Errorf("%d resources, want %d", len(w.cloud), tt.cloud)
			}
			calls := slices.Repeat([]string{"provision " + string(p.Operation.ID)}, 1+btoi(tt.resent))
			if !slices.Equal(w.calls, calls) {
				t.Errorf("calls %v, want %v", w.calls, calls)
			}
			if string(op.Request) != string(p.Operation.Request) || string(op.Nonce) != string(p.Operation.Nonce) {
				t.Error("the request changed after it was stored")
			}
		})
	}
}

// One whose request was still to go out again had no way to be proven gone, and
// was terminating for ever.
func TestARequestThatIsGivenUpBeforeItGoesOutAgainLeavesNothing(t *testing.T) {
	w, p := begun(t, nil)
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, CallOver: true})
	w.inspect()
	given := w.only()
	w.step(ProviderDown{Provider: local, Reason: "it died"})
	w.pass(fleet.DefaultTimeouts().Provision, nil)
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	w.inspect()
	for _, i := range w.live() {
		if i.ID == given.ID {
			t.Errorf("it is %s: %s", i.State, i.Reason)
		}
	}
	if op := w.operation(p.Operation.ID); op.State != fleet.OperationNotCreated {
		t.Errorf("its operation is %s (%s)", op.State, op.Reason)
	}
}

func TestAFailedLaunchIsTriedAgainWithAFreshKeyAfterABackOff(t *testing.T) {
	w, p := begun(t, nil)
	w.step(
		ProvisionAnswered{
			Operation: p.Operation.ID,
			Outcome:   fleet.ProvisionNotCreated,
			Failure:   &Failure{Class: fleet.ErrorCapacity, Message: "no hosts"},
			CallOver:  true,
		},
	)
	w.step()
	if len(w.live()) != 0 || len(w.calls) != 1 {
		t.Fatalf("before the back-off is over: %s", w.describe())
	}
	if hold := w.last.Holds()["f1"]; !strings.Contains(hold.Reason.Text(), "(no capacity); last error: no hosts") {
		t.Errorf("hold = %+v, want the provider's words", hold)
	}
	w.now = w.now.Add(6 * time.Second)
	w.step()
	if again := take[Provision](w); again.Operation.ID == p.Operation.ID {
		t.Error("a launch with a known outcome used its key again")
	}
}

func TestTerminateOutcomes(t *testing.T) {
	refused := &Failure{Class: fleet.ErrorPermission, Message: "denied"}
	tests := []struct {
		name  string
		story func(w *world, e Terminate)
		calls int
		gone  bool
	}{
		{name: "gone", calls: 1, gone: true, story: func(w *world, e Terminate) { w.step(w.run(e)) }},
		{
			name:  "done but the answer is lost: an inspection proves it gone",
			calls: 1,
			gone:  true,
			story: func(w *world, e Terminate) {
				w.run(e)
				w.step(TerminateAnswered{Operation: e.Operation, Outcome: fleet.TerminateUnknown, Failure: refused})
				w.inspect()
			},
		},
		{
			name:  "accepted: counted until an inspection proves it gone",
			calls: 1,
			gone:  true,
			story: func(w *world, e Terminate) {
				w.step(TerminateAnswered{Operation: e.Operation, Outcome: fleet.TerminateAccepted})
				w.inspect()
				if len(w.live()) != 1 {
					w.t.Error("accepted was read as gone")
				}
				delete(w.cloud, e.Key)
				w.inspect()
			},
		},
		{name: "refused: asked again after a fresh look", calls: 2, story: func(w *world, e Terminate) {
			w.step(TerminateAnswered{Operation: e.Operation, Outcome: fleet.TerminateRefused, Failure: refused})
			w.now = w.now.Add(10 * time.Second)
			w.inspect()
			w.step()
		}},
		{name: "the manager dies before the call: asked again", calls: 2, story: func(w *world, e Terminate) {
			w.restart()
			w.inspect()
			w.inspect()
		}},
		{name: "the manager dies after the call: found gone", calls: 1, gone: true, story: func(w *world, e Terminate) {
			w.run(e)
			w.restart()
			w.inspect()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, demoFleet(1, 2))
			w.settle()
			w.calls = nil
			w.remove()
			e := terminating(w)
			tt.story(w, e)
			if got := len(w.live()) == 0; got != tt.gone {
				t.Errorf("gone = %v, want %v: %s", got, tt.gone, w.describe())
			}
			if len(w.calls) != tt.calls {
				t.Errorf("calls %v, want %d", w.calls, tt.calls)
			}
		})
	}
}

// remove is a removed block for the world's fleet.
func (w *world) remove() {
	f := w.store.fleets["f1"]
	f.Operational, f.Serial = fleet.FleetDraining, f.Serial+1
	w.store.fleets["f1"] = f
}

// terminating lets the world go on until a terminate call goes out.
func terminating(w *world) Terminate {
	w.t.Helper()
	for range 20 {
		if has[Terminate](w) {
			return take[Terminate](w)
		}
		for _, i := range w.live() {
			w.behave(i)
		}
		if has[Inspect](w) {
			w.inspect()
			continue
		}
		w.wait()
		w.step()
	}
	w.t.Fatalf("no terminate call: %s", w.describe())
	return Terminate{}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
