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

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// failed wraps the error of an RPC: who was asked to do what, what was said, and
// what can be done. A plugin that has died is told as that.
func (p *Process) failed(what string, err error) error {
	call := classify(err)
	if toldByPlugin(err) == nil && p.hasExited() {
		return fmt.Errorf("ask %s to %s: %w: %w; it is started again", p.launch.title(), what, call, p.ExitCause())
	}
	return fmt.Errorf("ask %s to %s: %w; %s", p.launch.title(), what, call, call.Advice())
}

// notSent is failed for a call that never began.
func (p *Process) notSent(what string, refusal *CallError) error {
	return fmt.Errorf("ask %s to %s: nothing was sent: %w; %s", p.launch.title(), what, refusal, refusal.Advice())
}

// refusal says why a call can't begin, before any of it is sent; nil: it can.
// What is refused here certainly had no effect; later that couldn't be known.
func (p *Process) refusal(ctx context.Context, request proto.Message) *CallError {
	switch size := proto.Size(request); {
	case size > providerpb.MaxMessageBytes:
		return invalid("the request has %d bytes and may have %d", size, providerpb.MaxMessageBytes)
	case p.hasExited():
		return &CallError{Class: fleet.ErrorTransient, Message: p.ExitCause().Error() + "; it is started again"}
	case p.stopping.Load():
		return &CallError{Class: fleet.ErrorTransient, Message: "its process is being stopped"}
	case ctx.Err() != nil:
		return &CallError{
			Class:   fleet.ErrorTransient,
			Message: "the manager had no time left for the call: " + context.Cause(ctx).Error(),
		}
	}
	return nil
}

// invalid is an error that the same request meets every time.
func invalid(format string, arguments ...any) *CallError {
	return &CallError{Class: fleet.ErrorInvalid, Message: fmt.Sprintf(format, arguments...)}
}

// stream makes a streaming call and hands each message on. The plugin isn't told
// of the caller's deadline, it sees a cancellation when that has passed: a
// plugin that ends its stream well because its time is up would otherwise pass
// half a list off as a whole one. Answers of more than most bytes end the call;
// 0: no limit.
func stream[Request, Response any](
	ctx context.Context,
	most int,
	call func(context.Context, *Request, ...grpc.CallOption) (grpc.ServerStreamingClient[Response], error),
	request *Request,
	handle func(*Response),
) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	responses, err := call(inner, request)
	for size := 0; err == nil; {
		var response *Response
		if response, err = responses.Recv(); err != nil {
			break
		}
		if size += answerCost + sizeOf(response); most > 0 && size > most {
			return &CallError{
				Class:   fleet.ErrorInternal,
				Message: fmt.Sprintf("the plugin answers without end: more than %d MiB in one call", most>>20),
			}
		}
		handle(response)
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case ctx.Err() != nil && toldByPlugin(err) == nil:
		return fmt.Errorf("the manager gave up waiting: %w", context.Cause(ctx))
	}
	return err
}

// maxAnswers is how much a plugin may answer to one call, in bytes: a hundred
// thousand resources with their tags. The manager holds it in memory.
const maxAnswers = 128 << 20

// answerCost is counted for each answer, so that empty ones come to an end too.
const answerCost = 1 << 10

func sizeOf(response any) int {
	if message, ok := response.(proto.Message); ok {
		return proto.Size(message)
	}
	return 0
}

// exitWait is how long the end of a process may come after the end of its
// connection.
const exitWait = 2 * time.Second

// callOver says whether a streaming call that ended with err (nil: OK) is certainly
// over: the plugin ended it, or there is no plugin any more. Otherwise (deadline,
// cancellation, broken connection) the plugin may still be at work. What our own
// Stop broke off is over as soon as Stop has ended the process.
func (p *Process) callOver(err error) bool {
	if err == nil || toldByPlugin(err) != nil || p.hasExited() {
		return true
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition,
		codes.Aborted, codes.OutOfRange, codes.DataLoss:
		return true // gRPC itself never makes these: the plugin answered
	case codes.Unavailable, codes.Canceled: // often the first sign of a crash, or of Stop
	default:
		return false
	}
	if p.stopping.Load() {
		select {
		case <-p.Exited():
			return true
		case <-p.leftBehind:
			return false
		}
	}
	if status.Code(err) == codes.Canceled {
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
