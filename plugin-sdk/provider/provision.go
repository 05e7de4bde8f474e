package provider

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var errBadKey = errors.New(
	"the key must be 1 to 63 lower-case letters, digits and dashes, with a letter or digit at both ends")

// Provision answers every item as soon as it is known. Items begin when the RPC
// arrives or never; once begun they run to their end, whatever becomes of the
// RPC, because a create that is cut off leaves a machine without a record.
func (s *server[C, I]) Provision(request *providerpb.ProvisionRequest,
	stream grpc.ServerStreamingServer[providerpb.ProvisionResponse]) error {
	provider, err := s.provider()
	if err != nil {
		return err
	}
	instance, complaints := decodeBlock[I](s.blocks.instance, request.InstanceJson)
	var refusal error
	for _, complaint := range complaints {
		if !complaint.Warning {
			refusal = errors.Join(refusal, complaint)
		}
	}
	create := func(ctx context.Context, item *providerpb.ProvisionRequest_Item) *providerpb.ProvisionResponse {
		return s.create(ctx, provider, provisionFromWire(request, item, instance))
	}
	batch := batch[*providerpb.ProvisionResponse]{flights: s.flights, slots: s.slots(), send: stream.Send}
	for _, item := range request.Items {
		switch {
		case !IsLabel(item.Key):
			batch.answer(notCreated(item.Key, NotCreated(Invalid, errBadKey)))
		case refusal != nil:
			batch.answer(notCreated(item.Key, NotCreated(Invalid, refusal)))
		default:
			joined, begun, err := s.flights.join(stream.Context(), item.Key, true)
			batch.follow(func() *providerpb.ProvisionResponse {
				switch {
				case errors.Is(err, errBusy):
					return provisionUnknown(item.Key, err) // it is being terminated: what exists isn't certain
				case err != nil:
					return notCreated(item.Key, err)
				case !begun:
					<-joined.done
					return joined.created
				}
				defer s.flights.land(joined, item.Key)
				joined.created = provisionUnknown(item.Key, internalError("the call ended without an answer"))
				batch.inSlot(func() {
					if err := s.flights.mayStart(stream.Context()); err != nil {
						joined.created = notCreated(item.Key, err)
						return
					}
					joined.created = create(s.lifetime, item)
				})
				return joined.created
			})
		}
	}
	return batch.wait()
}

// create calls the author's Provision and turns its end into an outcome.
func (s *server[C, I]) create(
	ctx context.Context, provider Provider[I], request ProvisionRequest[I],
) (answer *providerpb.ProvisionResponse) {
	defer func() {
		if thrown := recover(); thrown != nil {
			answer = provisionUnknown(request.Key, recovered(s.logger, "Provision of "+request.Key, thrown))
		}
		redact(answer.Error, request.Bootstrap.Token)
	}()
	resource, err := provider.Provision(ctx, request)
	switch {
	case IsNotCreated(err):
		return notCreated(request.Key, err)
	case err != nil:
		return provisionUnknown(request.Key, err)
	}
	return answerOf(request.Key, request.Fleet, request.InstanceDigest, resource)
}

// answerOf is the answer that gives the resource that the key made.
func answerOf(key, fleet, digest string, resource Resource) *providerpb.ProvisionResponse {
	switch {
	case resource.Key != "" && resource.Key != key:
		return provisionUnknown(key, internalError("the plugin answered with a resource of the key %q", resource.Key))
	case resource.ID == "" && resource.State != Pending:
		return provisionUnknown(key, internalError("the plugin answered with a resource that has no id and isn't pending"))
	}
	resource.Key = key
	if resource.Fleet == "" {
		resource.Fleet = fleet
	}
	outcome := providerpb.ProvisionResponse_OUTCOME_CREATED
	switch {
	case resource.ID == "":
		outcome = providerpb.ProvisionResponse_OUTCOME_ACCEPTED
	case resource.Existed:
		outcome = providerpb.ProvisionResponse_OUTCOME_EXISTED
	}
	if !resource.Existed && resource.InstanceDigest == "" {
		resource.InstanceDigest = digest
	}
	return &providerpb.ProvisionResponse{Key: key, Outcome: outcome, Resource: resourceToWire(resource)}
}

func notCreated(key string, err error) *providerpb.ProvisionResponse {
	return &providerpb.ProvisionResponse{
		Key: key, Outcome: providerpb.ProvisionResponse_OUTCOME_NOT_CREATED, Error: errorToWire(err),
	}
}

func provisionUnknown(key string, err error) *providerpb.ProvisionResponse {
	return &providerpb.ProvisionResponse{
		Key: key, Outcome: providerpb.ProvisionResponse_OUTCOME_UNKNOWN, Error: errorToWire(err),
	}
}

// redact takes the token out of what the infrastructure said: APIs like to
// repeat the user data that they refuse.
func redact(wire *providerpb.Error, token string) {
	if wire != nil && token != "" {
		wire.Message = strings.ReplaceAll(wire.Message, token, "[redacted]")
	}
}

func provisionFromWire[I any](request *providerpb.ProvisionRequest, item *providerpb.ProvisionRequest_Item,
	instance I) ProvisionRequest[I] {
	decoded := ProvisionRequest[I]{
		Key: item.Key, Name: item.Name, Fleet: request.Fleet, Image: request.Image,
		Platform: Platform{OS: request.Platform.GetOs(), Arch: request.Platform.GetArch()},
		Tags:     item.Tags, Asset: item.Asset,
		Bootstrap: bootstrap.Document{
			Kind:          item.Bootstrap.GetKind(),
			ManagerURL:    item.Bootstrap.GetManagerUrl(),
			ServerName:    item.Bootstrap.GetServerName(),
			CAFingerprint: item.Bootstrap.GetCaFingerprint(),
			Token:         item.Bootstrap.GetToken(),
			AgentURL:      item.Bootstrap.GetAgentUrl(),
			AgentSHA256:   item.Bootstrap.GetAgentSha256(),
		},
		Instance: instance, InstanceDigest: request.InstanceDigest,
	}
	for _, offer := range request.Offers {
		decoded.Offers = append(decoded.Offers, offerFromWire(offer))
	}
	return decoded
}
