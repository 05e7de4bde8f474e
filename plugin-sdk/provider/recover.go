package provider

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// maxStackBytes keeps a log line below what a host reads as one line.
const maxStackBytes = 16 << 10

// recovered turns a panic of the author's code into an INTERNAL error and logs
// the stack. Without this one bad answer of a cloud would end the process and
// with it every call under way.
//
// What was thrown may carry a bootstrap token and goes nowhere; its type does,
// and the stack shows the place.
func recovered(logger *slog.Logger, during string, thrown any) error {
	stack := debug.Stack()
	if len(stack) > maxStackBytes {
		stack = stack[:maxStackBytes]
	}
	what := fmt.Sprintf("%T", thrown)
	if fault, ok := thrown.(interface {
		error
		RuntimeError()
	}); ok {
		what = fault.Error() // the runtime's own words hold no data of ours
	}
	logger.Error("panic in the plugin", "during", during, "panic", what, "stack", string(stack))
	return internalError("the plugin panicked during %s: %s; its log has the stack", during, what)
}

func recoverUnary(logger *slog.Logger) grpc.UnaryServerInterceptor {
	return func(
		ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
	) (response any, err error) {
		defer func() {
			if thrown := recover(); thrown != nil {
				err = statusError(codes.Internal, recovered(logger, info.FullMethod, thrown))
			}
		}()
		return handler(ctx, request)
	}
}

func recoverStream(logger *slog.Logger) grpc.StreamServerInterceptor {
	return func(
		service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler,
	) (err error) {
		defer func() {
			if thrown := recover(); thrown != nil {
				err = statusError(codes.Internal, recovered(logger, info.FullMethod, thrown))
			}
		}()
		return handler(service, stream)
	}
}
