//go:build unix

package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Info asks the plugin to describe itself. It needs no Configure.
func (p *Process) Info(ctx context.Context) (Info, error) {
	response, err := p.rpc.GetInfo(ctx, &providerpb.GetInfoRequest{})
	if err != nil {
		return Info{}, p.failed("describe itself", err)
	}
	info, err := infoOf(response)
	if err != nil {
		return Info{}, fmt.Errorf("%s describes itself wrongly: %w; update forgeyard-fleet, or report it to the plugin's author", p.launch.title(), err)
	}
	return info, nil
}

// Validation is a plugin's complaints about decoded blocks.
type Validation struct {
	Provider []fleet.PluginDiagnostic
	// Instances has the complaints about the instance bodies, by the names that
	// they were handed in under.
	Instances map[string][]fleet.PluginDiagnostic
}

// Validate checks block bodies offline. It needs no Configure; providerJSON may
// be empty.
func (p *Process) Validate(ctx context.Context, providerJSON []byte, instances map[string][]byte) (Validation, error) {
	request := &providerpb.ValidateRequest{ProviderJson: providerJSON, InstanceJson: instances}
	if err := p.checkSize(request); err != nil {
		return Validation{}, p.failed("check the configuration", err)
	}
	response, err := p.rpc.Validate(ctx, request)
	if err != nil {
		return Validation{}, p.failed("check the configuration", err)
	}
	validation := Validation{
		Provider:  diagnosticsOf(response.GetProvider()),
		Instances: map[string][]fleet.PluginDiagnostic{},
	}
	for name, list := range response.GetInstances() {
		if _, asked := instances[name]; !asked {
			p.launch.Logger.Warn("the plugin complains about an instance block that it was not asked about", "name", name)
			continue
		}
		if found := diagnosticsOf(list.GetItems()); len(found) > 0 {
			validation.Instances[name] = found
		}
	}
	return validation, nil
}

// Configuration binds a process to its provider block.
type Configuration struct {
	// ProviderJSON is the block's body. It may hold secrets: never logged.
	ProviderJSON []byte
	// Installation is the tag value that marks what is ours.
	Installation string
	// StateDir is a cache for the plugin; it may be emptied at any time.
	StateDir string
}

// Configure binds the process to its provider block, once per process. The
// account is what the credentials reach. Where a diagnostic is more than a
// warning, the process isn't configured.
func (p *Process) Configure(ctx context.Context, c Configuration) (account string, found []fleet.PluginDiagnostic, err error) {
	response, err := p.rpc.Configure(ctx, &providerpb.ConfigureRequest{
		ProviderJson: c.ProviderJSON,
		Installation: c.Installation,
		StateDir:     c.StateDir,
	})
	if err != nil {
		return "", nil, p.failed("take its configuration", err)
	}
	return printable(response.GetAccount()), diagnosticsOf(response.GetDiagnostics()), nil
}

// Drain asks the plugin to begin no new infrastructure call and to finish those
// under way until the deadline. It returns how many there are.
func (p *Process) Drain(ctx context.Context, deadline time.Duration) (inFlight int, err error) {
	response, err := p.rpc.Drain(ctx, &providerpb.DrainRequest{Deadline: durationpb.New(deadline)})
	if err != nil {
		return 0, p.failed("finish its calls", err)
	}
	return int(response.GetInFlight()), nil
}

// failed wraps the error of an RPC: who was asked to do what, what was said, and
// what can be done. A plugin that has died is told as that.
func (p *Process) failed(what string, err error) error {
	call := classify(err)
	if toldByPlugin(err) == nil && p.hasExited() {
		return fmt.Errorf("ask %s to %s: %w: %w; it is started again", p.launch.title(), what, call, p.ExitCause())
	}
	return fmt.Errorf("ask %s to %s: %w; %s", p.launch.title(), what, call, call.Advice())
}

// checkSize refuses a request that the plugin couldn't receive, before any of
// it is sent.
func (p *Process) checkSize(request proto.Message) error {
	if size := proto.Size(request); size > providerpb.MaxMessageBytes {
		return &CallError{
			Class:   fleet.ErrorInvalid,
			Message: fmt.Sprintf("the request has %d bytes and may have %d", size, providerpb.MaxMessageBytes),
		}
	}
	return nil
}

// stream makes a streaming call and hands each message on. The plugin isn't told
// of the caller's deadline, it sees a cancellation when that has passed: a
// plugin that ends its stream well because its time is up would otherwise pass
// half a list off as a whole one.
func stream[Request, Response any](
	ctx context.Context,
	call func(context.Context, *Request, ...grpc.CallOption) (grpc.ServerStreamingClient[Response], error),
	request *Request,
	handle func(*Response),
) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	responses, err := call(inner, request)
	for err == nil {
		var response *Response
		if response, err = responses.Recv(); err == nil {
			handle(response)
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case ctx.Err() != nil && toldByPlugin(err) == nil:
		return fmt.Errorf("the manager gave up waiting: %w", context.Cause(ctx))
	}
	return err
}

// exitWait is how long the end of a process may come after the end of its
// connection.
const exitWait = 2 * time.Second

// callOver says whether a streaming call that ended with err (nil: OK) is surely
// over: the plugin ended it, or there is no plugin any more. Otherwise (deadline,
// cancellation, broken connection) the plugin may still be at work.
func (p *Process) callOver(err error) bool {
	var refused *CallError
	if err == nil || toldByPlugin(err) != nil || errors.As(err, &refused) || p.hasExited() {
		return true
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition,
		codes.Aborted, codes.OutOfRange, codes.DataLoss:
		return true // gRPC itself never makes these: the plugin answered
	case codes.Unavailable: // often the first sign of a crash
	default:
		return false
	}
	timer := time.NewTimer(exitWait)
	defer timer.Stop()
	select {
	case <-p.Exited():
		return true
	case <-timer.C:
		return false
	}
}
