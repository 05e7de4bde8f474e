package control

import "context"

// Authorize says whether the caller of the context may use a use case at all, for
// surfaces that want to know before they read a request. Services ask again, and
// keep a caller who is limited to fleets to those.
func Authorize(ctx context.Context, useCase string) error {
	_, err := authorize(ctx, useCase)
	return err
}

// CallerOf is the caller of a context; the zero Caller may do nothing.
func CallerOf(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}
