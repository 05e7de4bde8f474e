package provider

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// permissionsServer speaks the wire of the service Permissions for a plugin.
type permissionsServer[C, I any] struct {
	providerpb.UnimplementedPermissionsServer
	server *server[C, I]
}

// Policy asks the author's function about blocks that are good. The instance blocks
// come in the order of their fleets' names.
func (p permissionsServer[C, I]) Policy(_ context.Context, request *providerpb.PolicyRequest) (
	*providerpb.PolicyResponse, error) {
	config, found := decodeBlock[C](p.server.blocks.config, request.ProviderJson)
	var instances []I
	for _, fleet := range slices.Sorted(maps.Keys(request.InstanceJson)) {
		instance, wrong := decodeBlock[I](p.server.blocks.instance, request.InstanceJson[fleet])
		instances, found = append(instances, instance), append(found, wrong...)
	}
	for _, complaint := range found {
		if !complaint.Warning {
			return nil, statusError(codes.InvalidArgument, &Error{Class: Invalid, Err: complaint})
		}
	}
	document, err := p.server.plugin.Policy(config, instances, request.Installation)
	switch {
	case err != nil:
		return nil, statusError(codes.InvalidArgument, &Error{Class: Invalid, Err: err})
	case document == "" || len(document) > providerpb.MaxPolicyBytes:
		return nil, statusError(codes.Internal, internalError(
			"Policy of the plugin wrote %d bytes: it writes some, and at most %d", len(document), providerpb.MaxPolicyBytes))
	}
	return &providerpb.PolicyResponse{Document: document}, nil
}
