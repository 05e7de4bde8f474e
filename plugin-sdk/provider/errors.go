package provider

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Class is what the host does about an error; the plugin only maps what the
// infrastructure said to the nearest one.
type Class int

// The classes, and what the host does.
const (
	Auth       = Class(providerpb.Error_CLASS_AUTH)       // holds the fleet, tells a person
	Permission = Class(providerpb.Error_CLASS_PERMISSION) // the same
	Quota      = Class(providerpb.Error_CLASS_QUOTA)      // goes elsewhere, and there again later
	Capacity   = Class(providerpb.Error_CLASS_CAPACITY)   // goes elsewhere, and there again later
	RateLimit  = Class(providerpb.Error_CLASS_RATE_LIMIT) // waits for RetryAfter
	Invalid    = Class(providerpb.Error_CLASS_INVALID)    // asks for another config
	Conflict   = Class(providerpb.Error_CLASS_CONFLICT)   // holds: the key belongs to something else
	Transient  = Class(providerpb.Error_CLASS_TRANSIENT)  // backs off, tries again
	Internal   = Class(providerpb.Error_CLASS_INTERNAL)   // backs off, reports a bug in the plugin
)

// Error is an error with its class and what narrows it. A plain error is read
// as Transient.
type Error struct {
	Class Class
	Err   error
	// RetryAfter is when the infrastructure wants to be asked again.
	RetryAfter time.Duration
	// Zone and MachineType narrow Capacity and Quota.
	Zone        string
	MachineType string
	// Scope narrows them to something that only the plugin knows, such as a placement
	// group or a project's limit: every offer with this Scope rests.
	Scope string
	// RequestID is the infrastructure's own, for its support desk.
	RequestID string

	notCreated bool
}

// Error says what the infrastructure said.
func (e *Error) Error() string {
	if e.Err == nil {
		return "no reason was given"
	}
	return e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// NotCreated claims that this Provision made nothing and that nothing will
// appear or be billed. The claim is taken at its word: another create follows.
// Details of an Error in err are kept.
//
// The claim holds through fmt.Errorf("…: %w", err), but not through errors.Join:
// where a second thing went wrong, what exists is not certain any more.
func NotCreated(class Class, err error) error {
	claim := Error{Class: class, Err: err, notCreated: true}
	if detailed, found := errors.AsType[*Error](err); found {
		claim.RetryAfter, claim.RequestID = detailed.RetryAfter, detailed.RequestID
		claim.Zone, claim.MachineType, claim.Scope = detailed.Zone, detailed.MachineType, detailed.Scope
	}
	return &claim
}

// IsNotCreated says whether the error makes the claim of NotCreated. It follows
// the single chain of causes only.
func IsNotCreated(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if claim, ok := err.(*Error); ok && claim.notCreated {
			return true
		}
	}
	return false
}

// errorToWire gives a plain error the class Transient.
func errorToWire(err error) *providerpb.Error {
	wire := &providerpb.Error{Class: providerpb.Error_CLASS_TRANSIENT, Message: err.Error()}
	if detailed, found := errors.AsType[*Error](err); found {
		if detailed.Class != 0 {
			wire.Class = providerpb.Error_Class(detailed.Class)
		}
		if detailed.RetryAfter > 0 {
			wire.RetryAfter = durationpb.New(detailed.RetryAfter)
		}
		wire.Zone, wire.MachineType, wire.Scope = detailed.Zone, detailed.MachineType, detailed.Scope
		wire.RequestId = detailed.RequestID
	}
	return wire
}

// statusError ends a whole RPC: the status carries the class as a detail.
func statusError(code codes.Code, err error) error {
	withDetail, detailErr := status.New(code, err.Error()).WithDetails(errorToWire(err))
	if detailErr != nil {
		return status.Error(code, err.Error())
	}
	return withDetail.Err()
}

// internalError is a bug in the plugin, or a host that breaks the contract.
func internalError(format string, arguments ...any) error {
	return &Error{Class: Internal, Err: fmt.Errorf(format, arguments...)}
}
