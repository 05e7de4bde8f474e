package access

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Caller is who asks, as the surface has established it: a user of this machine
// over the socket, or the holder of a token.
type Caller struct {
	Name        string
	Permissions []Permission
	// Fleets limits the caller to these; empty: all.
	Fleets []fleet.FleetAddress
	// Until is when what the caller showed expires; zero: never.
	Until time.Time
}

// LocalUser is a user whom the operating system vouches for: the owner of the
// state directory or root, who may do everything.
func LocalUser(name string) Caller { return Caller{Name: name, Permissions: AllPermissions()} }

type callerKey struct{}

// WithCaller puts the caller into the context of a use case.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is the caller of a context; the zero Caller may do nothing.
func CallerOf(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// Authorize says who may go on with a use case, or refuses with a *DeniedError. A
// use case without an entry in the table is refused for everybody. Surfaces may ask
// before they read a request; services ask again, and keep a caller who is limited
// to fleets to those.
func Authorize(ctx context.Context, useCase string) (Caller, error) {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	needs, known := Permissions[useCase]
	if !known || !slices.Contains(caller.Permissions, needs) {
		return Caller{}, &DeniedError{Caller: caller.Name, UseCase: useCase, Needs: needs}
	}
	return caller, nil
}

// MayTouch says whether the caller's token covers a fleet. Addresses of fleets
// made by for_each are covered by the block's address, too.
func (c Caller) MayTouch(a fleet.FleetAddress) bool {
	block, _, _ := strings.Cut(string(a), "[")
	return len(c.Fleets) == 0 || slices.Contains(c.Fleets, a) || slices.Contains(c.Fleets, fleet.FleetAddress(block))
}
