package access

import (
	"errors"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// ErrUnauthenticated refuses a caller without a valid identity. It is one sentence
// for a token that is missing, wrong, expired and revoked: who tries tokens
// learns nothing.
var ErrUnauthenticated = errors.New(
	"the token is not accepted: it is missing, wrong, expired or revoked; make one with: forgeyard-fleet token create",
)

// InvalidError refuses a request that can't be carried out as it is. Its reason
// is for any caller: it holds no secret and ends in what to do.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return e.Reason }

// Invalid is an *InvalidError.
func Invalid(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// ConflictError refuses a request that what is there already stands against.
type ConflictError struct{ Reason string }

func (e *ConflictError) Error() string { return e.Reason }

// Conflict is a *ConflictError.
func Conflict(format string, args ...any) error {
	return &ConflictError{fmt.Sprintf(format, args...)}
}

// Refused is a *ConflictError: what was asked for is refused for a reason, with what a
// person can do about it.
func Refused(subject string, why reason.Reason) error {
	text := subject + " is refused: " + why.Text()
	for _, c := range why.Commands() {
		text += "; to " + c.Does + ": " + c.Line
	}
	return &ConflictError{text}
}

// NotFoundError says that there is nothing of that name.
type NotFoundError struct {
	Kind, ID string
}

func (e *NotFoundError) Error() string {
	list := e.Kind + " list"
	if e.Kind == "fleet" {
		list = "list"
	}
	return fmt.Sprintf("%s %q not found; run: forgeyard-fleet %s", e.Kind, e.ID, list)
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
		who = "an unknown caller"
	}
	if e.Fleet != "" {
		return fmt.Sprintf("%s may not %s %s; use a token that isn't limited to other fleets", who, e.UseCase, e.Fleet)
	}
	return fmt.Sprintf("%s may not %s: it needs the permission %s; use a token that has it", who, e.UseCase, e.Needs)
}
