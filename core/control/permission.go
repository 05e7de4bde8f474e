package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Permission is one of the seven of the specification [191].
type Permission string

// The permissions of section 191.
const (
	ReadFleets         Permission = "fleet.read"
	ManageFleets       Permission = "fleet.manage"
	ScaleFleets        Permission = "fleet.scale"
	DrainFleets        Permission = "fleet.drain"
	FreezeFleets       Permission = "fleet.freeze"
	ManageImages       Permission = "fleet.image.manage"
	ManageReservations Permission = "fleet.reservation.manage"
)

// AllPermissions lists the seven.
func AllPermissions() []Permission {
	return []Permission{ReadFleets, ManageFleets, ScaleFleets, DrainFleets, FreezeFleets, ManageImages, ManageReservations}
}

// Permissions is the one table of what each use case needs. Routes and commands
// name a use case, never a permission.
var Permissions = map[string]Permission{
	// A plan reads, with the manager's rights, the files and variables that a
	// submission's secrets refer to, and answers with what is wrong about them.
	"plan":       ManageFleets,
	"apply":      ManageFleets,
	"watch":      ReadFleets,
	"fleets":     ReadFleets,
	"instances":  ReadFleets,
	"instance":   ReadFleets,
	"decisions":  ReadFleets,
	"events":     ReadFleets,
	"unrecorded": ReadFleets,
	// What a person must decide, and what only a person may.
	"instance resolve": ManageFleets,
	"instance adopt":   ManageFleets,
	"instance replace": ManageFleets,
	"instance drain":   DrainFleets,

	// What people decide beside the file.
	"fleet scale":    ScaleFleets,
	"instance pin":   ScaleFleets,
	"freeze":         FreezeFleets,
	"quarantine":     FreezeFleets,
	"images":         ReadFleets,
	"image rollout":  ManageImages,
	"image rollback": ManageImages,
	// It lets money be spent that the file, which needs the same, doesn't let.
	"cost override":      ManageFleets,
	"reservations":       ReadFleets,
	"reservation create": ManageReservations,
	"reservation delete": ManageReservations,

	"token join":   ManageFleets,
	"refusals":     ReadFleets,
	"token create": ManageFleets,
	"token list":   ManageFleets,
	"token delete": ManageFleets,
	"audit":        ManageFleets,
	"key list":     ManageFleets,
	"key rotate":   ManageFleets,
	"key delete":   ManageFleets,
}

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

// DeniedError says that the caller lacks what a use case needs.
type DeniedError struct {
	Caller, UseCase string
	Needs           Permission
	// Fleet is the one that the caller isn't allowed; empty: any.
	Fleet fleet.FleetAddress
}

func (e *DeniedError) Error() string {
	who := e.Caller
	if who == "" {
		who = "nobody in particular"
	}
	if e.Fleet != "" {
		return fmt.Sprintf("%s may not %s %s; use a token that isn't limited to other fleets", who, e.UseCase, e.Fleet)
	}
	return fmt.Sprintf("%s may not %s: it needs the permission %s; use a token that has it", who, e.UseCase, e.Needs)
}

// authorize says who may go on with a use case, or refuses. A use case without
// an entry in the table is refused for everybody.
func authorize(ctx context.Context, useCase string) (Caller, error) {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	needs, known := Permissions[useCase]
	if !known || !slices.Contains(caller.Permissions, needs) {
		return Caller{}, &DeniedError{Caller: caller.Name, UseCase: useCase, Needs: needs}
	}
	return caller, nil
}

// mayTouch says whether the caller's token covers a fleet. Addresses of fleets
// made by for_each are covered by the block's address, too.
func (c Caller) mayTouch(a fleet.FleetAddress) bool {
	block, _, _ := strings.Cut(string(a), "[")
	return len(c.Fleets) == 0 || slices.Contains(c.Fleets, a) || slices.Contains(c.Fleets, fleet.FleetAddress(block))
}
