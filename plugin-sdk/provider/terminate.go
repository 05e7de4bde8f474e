package provider

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var errBadRef = errors.New(
	"a reference needs an id or a key, and a key is 1 to 63 lower-case letters, digits and dashes")

// Terminate removes resources. As with Provision, a removal that began runs to
// its end; one that didn't begin is answered as unknown, since only a look at
// the infrastructure can tell whether the resource is there.
func (s *server[C, I]) Terminate(request *providerpb.TerminateRequest,
	stream grpc.ServerStreamingServer[providerpb.TerminateResponse]) error {
	provider, err := s.provider()
	if err != nil {
		return err
	}
	batch := batch[*providerpb.TerminateResponse]{flights: s.flights, slots: s.slots(), send: stream.Send}
	for _, wire := range request.Refs {
		ref := Ref{ID: wire.Id, Key: wire.Key, Force: request.Force}
		if ref.Key == "" && ref.ID == "" || ref.Key != "" && !IsLabel(ref.Key) {
			batch.answer(terminateOutcome(ref, TerminateUnknown, &Error{Class: Invalid, Err: errBadRef}))
			continue
		}
		name := ref.flightName()
		joined, begun, err := s.flights.join(stream.Context(), name, false)
		batch.follow(func() *providerpb.TerminateResponse {
			if err != nil {
				return terminateOutcome(ref, TerminateUnknown, err)
			}
			if !begun {
				<-joined.done
				return joined.terminated
			}
			defer s.flights.land(joined, name)
			joined.terminated = terminateOutcome(ref, TerminateUnknown, internalError("the call ended without an answer"))
			batch.inSlot(func() {
				if err := s.flights.mayStart(stream.Context()); err != nil {
					joined.terminated = terminateOutcome(ref, TerminateUnknown, err)
					return
				}
				joined.terminated = s.remove(s.lifetime, provider, ref)
			})
			return joined.terminated
		})
	}
	return batch.wait()
}

// flightName is the key, so that a removal and a create of one key never run
// at once. No key begins with "id ".
func (r Ref) flightName() string {
	if r.Key != "" {
		return r.Key
	}
	return "id " + r.ID
}

// remove calls the author's Terminate and turns its end into an outcome.
func (s *server[C, I]) remove(
	ctx context.Context, provider Provider[I], ref Ref,
) (answer *providerpb.TerminateResponse) {
	defer func() {
		if thrown := recover(); thrown != nil {
			answer = terminateOutcome(ref, TerminateUnknown, recovered(s.logger, "Terminate of "+ref.flightName(), thrown))
		}
	}()
	state, err := provider.Terminate(ctx, ref)
	switch {
	case err != nil && state == Refused:
		return terminateOutcome(ref, Refused, err)
	case err != nil:
		return terminateOutcome(ref, TerminateUnknown, err)
	case state != Gone && state != TerminateAccepted && state != Refused:
		return terminateOutcome(ref, TerminateUnknown,
			internalError("the plugin ended Terminate with neither a state nor an error"))
	}
	return terminateOutcome(ref, state, nil)
}

func terminateOutcome(ref Ref, state TerminateState, err error) *providerpb.TerminateResponse {
	answer := &providerpb.TerminateResponse{Id: ref.ID, Key: ref.Key, Outcome: providerpb.TerminateResponse_Outcome(state)}
	if err != nil {
		answer.Error = errorToWire(err)
	}
	return answer
}
