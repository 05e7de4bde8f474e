package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// BatchProvisioner is implemented where one call of the infrastructure makes several
// instances, and the infrastructure itself knows a call that comes again. Plugin.Batches
// says that what New returns is one.
//
// All members have one bootstrap document, whose token is good once for each of them,
// so that only IdentityVerifier tells the hosts apart.
type BatchProvisioner[I any] interface {
	// ProvisionBatch makes all members or none, and gives a Resource for each, with
	// its Key. The same request again gives the same instances (with Existed set) and
	// makes no further one, also where some of them are gone since.
	//
	// Which member an instance is must follow from what the infrastructure keeps of it
	// from the moment that it exists, since every answer may be lost: Inspect names
	// its Key and the member's own Tags without anything having been written after
	// the call.
	//
	// With an error, the members that have a Resource are made, and the error is about
	// the others: NotCreated claims that nothing exists of them; a plain error says
	// that this is unknown.
	ProvisionBatch(ctx context.Context, request BatchRequest[I]) ([]Resource, error)
}

// BatchRequest asks for all members of a batch. It is the same at every attempt.
type BatchRequest[I any] struct {
	// Key is the batch's own. It has the form of an instance's key and belongs to no instance.
	Key string
	// Members are in an order that never changes.
	Members []Member
	// Fleet, Image, Platform, Offers, Instance and InstanceDigest are as in
	// ProvisionRequest, and all members'.
	Fleet          string
	Image          string
	Platform       Platform
	Offers         []Offer
	Instance       I
	InstanceDigest string
	// Bootstrap is every member's. It is secret: render it for the first boot and log
	// it nowhere.
	Bootstrap bootstrap.Document
}

// Member is what is a member's own. The fields are as in ProvisionRequest.
type Member struct {
	Key  string
	Name string
	Tags map[string]string
}

// LogValue keeps the bootstrap document and sensitive attributes out of logs.
func (r BatchRequest[I]) LogValue() slog.Value {
	return slog.GroupValue(slog.String("batch", r.Key), slog.Int("members", len(r.Members)), slog.String("fleet", r.Fleet))
}

// checkBatches holds the plugin to its own word.
func (p Plugin[C, I]) checkBatches(configured Provider[I]) error {
	switch _, makes := configured.(BatchProvisioner[I]); {
	case makes && !p.Batches:
		return internalError(
			"the provider of the plugin is a BatchProvisioner, and the plugin doesn't say so: set Plugin.Batches")
	case !makes && p.Batches:
		return internalError(
			"the plugin sets Plugin.Batches, and its provider is no BatchProvisioner for its instance block: add the method " +
				"ProvisionBatch")
	}
	return nil
}

// checkBatchesDeclared says what a plugin that makes batches must be able to do.
func (p Plugin[C, I]) checkBatchesDeclared() error {
	switch {
	case p.Batches && !p.Identity:
		return errors.New(
			"it sets Batches and not Identity: the hosts of a batch share one token and are told apart only by their " +
				"verified identity")
	case p.Batches && p.Idempotency != IdempotentNative:
		return errors.New(
			"it sets Batches, and its Idempotency isn't IdempotentNative: only an infrastructure that knows a call that comes " +
				"again makes a batch once")
	}
	return nil
}

// batchServer speaks the wire of the service BatchProvisioner.
type batchServer[C, I any] struct {
	providerpb.UnimplementedBatchProvisionerServer
	server *server[C, I]
}

// ProvisionBatch is one call for all members: it begins when the RPC arrives or never,
// and runs to its end. Each member is in flight meanwhile under its own key.
func (s batchServer[C, I]) ProvisionBatch(request *providerpb.ProvisionBatchRequest,
	stream grpc.ServerStreamingServer[providerpb.ProvisionResponse]) error {
	provider, err := s.server.provider()
	if err != nil {
		return err
	}
	maker, ok := provider.(BatchProvisioner[I])
	if !ok { // checked when it was configured
		return statusError(codes.Unimplemented, internalError("the provider makes no batches"))
	}
	batch := batch[*providerpb.ProvisionResponse]{flights: s.server.flights, slots: s.server.slots(), send: stream.Send}
	instance, err := s.read(request)
	if err != nil {
		for _, item := range request.GetRequest().GetItems() {
			batch.answer(notCreated(item.GetKey(), NotCreated(Invalid, err)))
		}
		return batch.wait()
	}
	keys := make([]string, 0, len(request.Request.Items))
	for _, item := range request.Request.Items {
		keys = append(keys, item.Key)
	}
	joined, begun, err := s.server.flights.joinBatch(stream.Context(), request.Key, keys)
	for n, key := range keys {
		batch.follow(func() *providerpb.ProvisionResponse {
			switch {
			case errors.Is(err, errBusy):
				return provisionUnknown(key, err) // what exists of it isn't certain
			case err != nil:
				return notCreated(key, err)
			case begun && n == 0:
				defer s.server.flights.land(joined, keys...)
				joined.members = unanswered(keys, internalError("the call ended without an answer"))
				batch.inSlot(func() {
					if err := s.server.flights.mayStart(stream.Context()); err != nil {
						for _, member := range keys {
							joined.members[member] = notCreated(member, err)
						}
						return
					}
					joined.members = s.create(s.server.lifetime, maker, batchFromWire(request, instance))
				})
			default:
				<-joined.done
			}
			return joined.members[key]
		})
	}
	return batch.wait()
}

// read decodes the block that the members share. The error says what is wrong with
// the request, of which nothing was begun.
func (s batchServer[C, I]) read(request *providerpb.ProvisionBatchRequest) (I, error) {
	instance, complaints := decodeBlock[I](s.server.blocks.instance, request.GetRequest().GetInstanceJson())
	var refusal error
	for _, complaint := range complaints {
		if !complaint.Warning {
			refusal = errors.Join(refusal, complaint)
		}
	}
	if !IsLabel(request.Key) {
		refusal = errors.Join(refusal, fmt.Errorf("the batch: %w", errBadKey))
	}
	seen := map[string]bool{request.Key: true}
	for _, item := range request.GetRequest().GetItems() {
		switch {
		case !IsLabel(item.GetKey()):
			refusal = errors.Join(refusal, errBadKey)
		case seen[item.GetKey()]:
			refusal = errors.Join(refusal, fmt.Errorf("the key %s comes twice in the batch %s", item.GetKey(), request.Key))
		case item.GetAsset() != "" || item.GetBootstrap() != nil:
			refusal = errors.Join(refusal,
				fmt.Errorf("the member %s has an asset or a bootstrap document of its own, and those of a batch have neither",
					item.GetKey()))
		}
		seen[item.GetKey()] = true
	}
	if most := s.server.plugin.MaxBatch; most > 0 && len(request.GetRequest().GetItems()) > most {
		refusal = errors.Join(refusal,
			fmt.Errorf("the batch has %d members, and the plugin takes %d", len(request.Request.Items), most))
	}
	return instance, refusal
}

// create calls the author's ProvisionBatch and turns its end into an answer for each
// member.
func (s batchServer[C, I]) create(
	ctx context.Context, maker BatchProvisioner[I], request BatchRequest[I],
) (answers map[string]*providerpb.ProvisionResponse) {
	keys := make([]string, 0, len(request.Members))
	for _, member := range request.Members {
		keys = append(keys, member.Key)
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			answers = unanswered(keys, recovered(s.server.logger, "ProvisionBatch of "+request.Key, thrown))
		}
		for _, answer := range answers {
			redact(answer.Error, request.Bootstrap.Token)
		}
	}()
	made, err := maker.ProvisionBatch(ctx, request)
	if err == nil {
		err = internalError("the plugin answered the batch without a resource of this key")
	}
	answers = unanswered(keys, err)
	if IsNotCreated(err) {
		for _, key := range keys {
			answers[key] = notCreated(key, err)
		}
	}
	told := map[string]bool{}
	for _, resource := range made {
		switch {
		case answers[resource.Key] == nil:
			s.server.logger.Error("ProvisionBatch of the plugin gave a resource of a key that isn't in the batch", "batch",
				request.Key, "key", resource.Key, "id", resource.ID)
		case told[resource.Key]:
			answers[resource.Key] = provisionUnknown(resource.Key,
				internalError("the plugin answered with two resources of this key"))
		default:
			told[resource.Key] = true
			answers[resource.Key] = answerOf(resource.Key, request.Fleet, request.InstanceDigest, resource)
		}
	}
	return answers
}

// unanswered reports each key as unknown, with the reason.
func unanswered(keys []string, err error) map[string]*providerpb.ProvisionResponse {
	answers := make(map[string]*providerpb.ProvisionResponse, len(keys))
	for _, key := range keys {
		answers[key] = provisionUnknown(key, err)
	}
	return answers
}

func batchFromWire[I any](wire *providerpb.ProvisionBatchRequest, instance I) BatchRequest[I] {
	common := provisionFromWire(wire.Request, &providerpb.ProvisionRequest_Item{Bootstrap: wire.Bootstrap}, instance)
	request := BatchRequest[I]{
		Key: wire.Key, Fleet: common.Fleet, Image: common.Image, Platform: common.Platform, Offers: common.Offers,
		Instance: common.Instance, InstanceDigest: common.InstanceDigest, Bootstrap: common.Bootstrap,
	}
	for _, item := range wire.Request.Items {
		request.Members = append(request.Members, Member{Key: item.Key, Name: item.Name, Tags: item.Tags})
	}
	return request
}
