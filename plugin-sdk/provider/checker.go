package provider

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Checker is implemented by a provider that can ask its infrastructure whether it has
// what an instance block names: the image, the machine type, the network. Plugin.Checks
// says that it is.
type Checker[I any] interface {
	// Check says what is wrong with a block, as a plan is made, with paths into the
	// block. It changes nothing. An error means that it can't be told now: the plan says
	// so and continues.
	Check(ctx context.Context, request CheckRequest[I]) ([]Diagnostic, error)
}

// CheckRequest is what an instance would be made of.
type CheckRequest[I any] struct {
	Instance I
	Image    string
	Platform Platform
}

// checkChecker compares what the plugin declares with what its provider does.
func (p Plugin[C, I]) checkChecker(configured Provider[I]) error {
	switch _, checks := configured.(Checker[I]); {
	case checks && !p.Checks:
		return internalError("what New returned has the method Check, and the plugin doesn't say so: set Plugin.Checks")
	case !checks && p.Checks:
		return internalError("the plugin sets Plugin.Checks, and what New returned has no such method for its instance block")
	}
	return nil
}

// checkServer speaks the wire of the service Checker for a plugin.
type checkServer[C, I any] struct {
	providerpb.UnimplementedCheckerServer
	server *server[C, I]
}

// Check asks the author's method about a block that passed the offline checks.
func (c checkServer[C, I]) Check(
	ctx context.Context, request *providerpb.CheckRequest,
) (*providerpb.CheckResponse, error) {
	provider, err := c.server.provider()
	if err != nil {
		return nil, err
	}
	checker, ok := provider.(Checker[I])
	if !ok { // compared when it was configured
		return nil, statusError(codes.Unimplemented, internalError("the provider checks nothing"))
	}
	instance, found := decodeBlock[I](c.server.blocks.instance, request.GetInstanceJson())
	if hasErrors(found) {
		return &providerpb.CheckResponse{Diagnostics: diagnosticsToWire(found)}, nil
	}
	found, err = checker.Check(ctx, CheckRequest[I]{
		Instance: instance, Image: request.GetImage(),
		Platform: Platform{OS: request.GetPlatform().GetOs(), Arch: request.GetPlatform().GetArch()},
	})
	if err != nil {
		return nil, statusError(codes.Unavailable, err)
	}
	return &providerpb.CheckResponse{Diagnostics: diagnosticsToWire(found)}, nil
}
