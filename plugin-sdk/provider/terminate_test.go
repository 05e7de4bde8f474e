package provider

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

func TestAuthorsEndOfATerminateBecomesAnOutcome(t *testing.T) {
	for name, test := range map[string]struct {
		state   TerminateState
		err     error
		outcome providerpb.TerminateResponse_Outcome
		class   providerpb.Error_Class
	}{
		"gone": {Gone, nil, providerpb.TerminateResponse_OUTCOME_GONE, noClass},
		"under way": {TerminateAccepted, nil, providerpb.TerminateResponse_OUTCOME_ACCEPTED,
			noClass},
		"refused with its reason": {Refused, &Error{Class: Conflict, Err: errors.New("another key")},
			providerpb.TerminateResponse_OUTCOME_REFUSED, providerpb.Error_CLASS_CONFLICT},
		"a plain error is unknown": {TerminateUnknown, errors.New("reset"),
			providerpb.TerminateResponse_OUTCOME_UNKNOWN, transient},
		"gone with an error is unknown": {Gone, errors.New("reset"), providerpb.TerminateResponse_OUTCOME_UNKNOWN,
			transient},
		"nothing at all is the plugin's bug": {0, nil, providerpb.TerminateResponse_OUTCOME_UNKNOWN, internalPB},
	} {
		t.Run(name, func(t *testing.T) {
			host := start(t, &scripted{terminate: func(context.Context, Ref) (TerminateState, error) {
				return test.state, test.err
			}})
			got := receive(
				host.Terminate(t.Context(), &providerpb.TerminateRequest{Refs: []*providerpb.Ref{{Id: "i-1", Key: "k1"}}}))
			if got.err != nil || len(got.messages) != 1 {
				t.Fatalf("got %v", got)
			}
			answer := got.messages[0]
			if answer.Outcome != test.outcome || answer.GetError().GetClass() != test.class || answer.Id != "i-1" ||
				answer.Key != "k1" {
				t.Errorf("got %v", answer)
			}
		})
	}
}

func TestForceAndReferenceReachTheAuthor(t *testing.T) {
	refs := make(chan Ref, 1)
	host := start(t, &scripted{terminate: func(_ context.Context, ref Ref) (TerminateState, error) {
		refs <- ref
		return Gone, nil
	}})
	receive(host.Terminate(t.Context(),
		&providerpb.TerminateRequest{Force: true, Refs: []*providerpb.Ref{{Id: "i-1", Key: "k1"}}}))
	if got, want := <-refs, (Ref{ID: "i-1", Key: "k1", Force: true}); got != want {
		t.Errorf("got %v", got)
	}
}

func TestBadReferenceAndPanicAreUnknown(t *testing.T) {
	host := start(t, &scripted{terminate: func(context.Context, Ref) (TerminateState, error) { panic("oh") }})
	got := receive(
		host.Terminate(t.Context(), &providerpb.TerminateRequest{Refs: []*providerpb.Ref{{}, {Key: "../.."}, {Id: "i-1"}}}))
	if got.err != nil || len(got.messages) != 3 {
		t.Fatalf("got %v", got)
	}
	for _, answer := range got.messages {
		if answer.Outcome != providerpb.TerminateResponse_OUTCOME_UNKNOWN {
			t.Errorf("got %v", answer)
		}
	}
}

// A removal that runs beside the create of the same key would find nothing,
// answer GONE, and let the create's machine be forgotten.
func TestRemovalBesideTheCreateOfTheSameKeyIsNotBegun(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var removals atomic.Int32
	host := start(t, &scripted{
		provision: func(context.Context, ProvisionRequest[testInstance]) (Resource, error) {
			close(entered)
			<-release
			return Resource{ID: "i-1"}, nil
		},
		terminate: func(context.Context, Ref) (TerminateState, error) { removals.Add(1); return Gone, nil },
	})
	answers := make(chan received[providerpb.ProvisionResponse], 1)
	go func() { answers <- receive(host.Provision(t.Context(), batchOf("k1"))) }()
	within(t, entered, "the create")
	got := receive(host.Terminate(t.Context(), &providerpb.TerminateRequest{Refs: []*providerpb.Ref{{Key: "k1"}}}))
	if answer := got.messages[0]; answer.Outcome != providerpb.TerminateResponse_OUTCOME_UNKNOWN ||
		answer.Error.Class != transient {
		t.Errorf("got %v", answer)
	}
	close(release)
	within(t, answers, "the create's answer")
	if removals.Load() != 0 {
		t.Error("the provider was called")
	}
}

func TestCreateBesideTheRemovalOfTheSameKeyIsUnknown(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	host := start(t, &scripted{terminate: func(context.Context, Ref) (TerminateState, error) {
		close(entered)
		<-release
		return Gone, nil
	}})
	answers := make(chan received[providerpb.TerminateResponse], 1)
	go func() {
		answers <- receive(host.Terminate(t.Context(), &providerpb.TerminateRequest{Refs: []*providerpb.Ref{{Key: "k1"}}}))
	}()
	within(t, entered, "the removal")
	wantOutcome(t, host.provision(t, t.Context(), "k1")["k1"], unknown, transient)
	look := receive(host.Inspect(t.Context(), &providerpb.InspectRequest{Keys: []string{"k1"}}))
	if last := look.messages[0]; len(last.InFlightKeys) != 0 || len(last.AbsentKeys) != 1 {
		t.Errorf("a removal counts as a create: in flight %v, absent %v", last.InFlightKeys, last.AbsentKeys)
	}
	close(release)
	within(t, answers, "the removal's answer")
}
