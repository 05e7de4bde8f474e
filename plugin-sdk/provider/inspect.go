package provider

import (
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// pageBytes keeps a page of resources with many tags far below the message limit.
const pageBytes = 4 << 20

// Inspect streams the provider's list in pages. Its last message, sent only
// when the list is complete, says which keys are in flight and which are absent.
func (s *server[C, I]) Inspect(request *providerpb.InspectRequest,
	stream grpc.ServerStreamingServer[providerpb.InspectResponse]) error {
	provider, err := s.provider()
	if err != nil {
		return err
	}
	watch := s.flights.watch()
	watching := true
	endWatch := func() []string { watching = false; return s.flights.endWatch(watch) }
	defer func() {
		if watching {
			endWatch()
		}
	}()

	found := map[string]bool{}
	page := pageWriter{stream: stream}
	for resource, err := range provider.Inspect(stream.Context(), Query{Keys: request.Keys, IDs: request.Ids}) {
		if err != nil {
			return statusError(codes.Unavailable, err)
		}
		if !asked(request, resource) {
			continue
		}
		found[resource.Key] = true
		if err := page.add(resource); err != nil {
			return err
		}
	}
	// A provider that ends quietly because it was interrupted has no complete list.
	if err := stream.Context().Err(); err != nil {
		return statusError(codes.Canceled, err)
	}

	last := &providerpb.InspectResponse{Resources: page.rest(), InFlightKeys: endWatch()}
	for _, key := range request.Keys {
		if !found[key] && !slices.Contains(last.InFlightKeys, key) {
			last.AbsentKeys = append(last.AbsentKeys, key)
		}
	}
	return stream.Send(last)
}

// asked says whether the resource is among what was asked for.
func asked(request *providerpb.InspectRequest, resource Resource) bool {
	if len(request.Keys) == 0 && len(request.Ids) == 0 {
		return true
	}
	return slices.Contains(request.Keys, resource.Key) ||
		slices.Contains(request.Ids, resource.ID) ||
		resource.BelongsTo != "" && slices.Contains(request.Ids, resource.BelongsTo)
}

// pageWriter sends full pages and keeps the rest for the last message.
type pageWriter struct {
	stream  grpc.ServerStreamingServer[providerpb.InspectResponse]
	pending []*providerpb.Resource
	bytes   int
}

func (w *pageWriter) add(resource Resource) error {
	wire := resourceToWire(resource)
	w.pending = append(w.pending, wire)
	w.bytes += proto.Size(wire)
	if len(w.pending) < providerpb.MaxPage && w.bytes < pageBytes {
		return nil
	}
	full := &providerpb.InspectResponse{Resources: w.rest()}
	return w.stream.Send(full)
}

func (w *pageWriter) rest() []*providerpb.Resource {
	rest := w.pending
	w.pending, w.bytes = nil, 0
	return rest
}

func resourceToWire(resource Resource) *providerpb.Resource {
	wire := &providerpb.Resource{
		Id: resource.ID, Key: resource.Key, Fleet: resource.Fleet,
		State:     providerpb.Resource_State(resource.State),
		Addresses: resource.Addresses,
		Zone:      resource.Zone, MachineType: resource.MachineType,
		InstanceDigest: resource.InstanceDigest,
		Tags:           resource.Tags,
		Detail:         resource.Detail, Image: resource.Image,
		BelongsTo: resource.BelongsTo, Kind: resource.Kind, Attested: resource.Attested,
	}
	if resource.Failure != nil {
		wire.Failure = errorToWire(resource.Failure)
	}
	if wire.Kind == "" {
		wire.Kind = "instance"
	}
	if !resource.Created.IsZero() {
		wire.Created = timestamppb.New(resource.Created)
	}
	if !resource.BilledUntil.IsZero() {
		wire.BilledUntil = timestamppb.New(resource.BilledUntil)
	}
	return wire
}
