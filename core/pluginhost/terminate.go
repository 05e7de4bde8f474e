//go:build unix

package pluginhost

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// TerminateRef names one resource to remove.
type TerminateRef struct {
	// ID is the provider's own; empty for an order that has no machine yet.
	ID fleet.ProviderInstanceRef
	// Key is the provision operation that made it.
	Key fleet.OperationID
}

// TerminateAnswer is the answer for one resource. Err and CallOver are as in
// ProvisionAnswer.
type TerminateAnswer struct {
	Ref      TerminateRef
	Outcome  fleet.TerminateOutcome
	Err      *CallError
	CallOver bool
}

// Terminate removes resources and passes each answer on as it comes, from the
// caller's goroutine. Every reference is answered exactly once: one that the
// plugin leaves out is unknown, and where nothing was sent, none is.
func (p *Process) Terminate(ctx context.Context, refs []TerminateRef, force bool, answer func(TerminateAnswer)) error {
	what := fmt.Sprintf("remove %d resources", len(refs))
	message := &providerpb.TerminateRequest{Force: force}
	for _, ref := range refs {
		message.Refs = append(message.Refs, &providerpb.Ref{Id: string(ref.ID), Key: string(ref.Key)})
	}
	refusal := p.refusal(ctx, message)
	for i, ref := range refs {
		if ref == (TerminateRef{}) || matchRef(refs[:i], ref) >= 0 {
			refusal = invalid("the reference {id %q, key %q} is empty or used twice", ref.ID, ref.Key)
		}
	}
	if refusal != nil {
		for _, ref := range refs {
			answer(TerminateAnswer{Ref: ref, Outcome: fleet.TerminateNotSent, Err: refusal, CallOver: true})
		}
		return p.notSent(what, refusal)
	}
	open := slices.Clone(refs)
	unexpected := unexpectedItems{logger: p.launch.Logger, what: "the plugin answers for a resource that isn't open"}
	err := stream(ctx, maxAnswers, p.sendTerminate, message, func(response *providerpb.TerminateResponse) {
		a := terminateAnswerOf(response)
		i := matchRef(open, a.Ref)
		if i < 0 {
			unexpected.note("id", a.Ref.ID, "key", a.Ref.Key, "outcome", a.Outcome)
			return
		}
		a.Ref = open[i]
		open = append(open[:i], open[i+1:]...)
		answer(a)
	})
	unexpected.report()
	over := p.callOver(err)
	why := &CallError{Class: fleet.ErrorInternal, Message: "the plugin ended the call without an answer for this resource"}
	if err != nil {
		why = classify(err)
	}
	for _, ref := range open {
		answer(TerminateAnswer{Ref: ref, Outcome: fleet.TerminateUnknown, Err: why, CallOver: over})
	}
	if err != nil {
		return p.failed(what, err)
	}
	return nil
}

// sendTerminate sends the request and returns before the first answer.
func (p *Process) sendTerminate(
	ctx context.Context,
	message *providerpb.TerminateRequest,
	options ...grpc.CallOption,
) (grpc.ServerStreamingClient[providerpb.TerminateResponse], error) {
	answers, err := p.rpc.Terminate(ctx, message, options...)
	failpoint.TerminateSent.Hit()
	return answers, err
}

var terminateOutcomes = map[providerpb.TerminateResponse_Outcome]fleet.TerminateOutcome{
	providerpb.TerminateResponse_OUTCOME_GONE:     fleet.TerminateGone,
	providerpb.TerminateResponse_OUTCOME_ACCEPTED: fleet.TerminateAccepted,
	providerpb.TerminateResponse_OUTCOME_REFUSED:  fleet.TerminateRefused,
}

func terminateAnswerOf(response *providerpb.TerminateResponse) TerminateAnswer {
	a := TerminateAnswer{
		Ref:      TerminateRef{ID: fleet.ProviderInstanceRef(response.GetId()), Key: fleet.OperationID(response.GetKey())},
		Outcome:  fleet.TerminateUnknown,
		Err:      callErrorOf(response.GetError()),
		CallOver: true,
	}
	if known, ok := terminateOutcomes[response.GetOutcome()]; ok {
		a.Outcome = known
	}
	return a
}

// matchRef finds the reference that an answer is about; -1: none, or more than
// one. An answer may name less than was asked (an order has no id), but nothing
// else: an id under another key is another resource.
func matchRef(refs []TerminateRef, said TerminateRef) int {
	found := -1
	for i, ref := range refs {
		if ref == said {
			return i
		}
		sameKey := said.Key == ref.Key && said.Key != ""
		sameID := said.ID == ref.ID && said.ID != ""
		keyFits := sameKey || said.Key == "" || ref.Key == ""
		idFits := sameID || said.ID == "" || ref.ID == ""
		if (sameKey || sameID) && keyFits && idFits {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}
