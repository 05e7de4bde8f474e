package pluginhost

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// CallError is a provider's or plugin's error with the class that decides what
// the manager does about it. This package is the only one that sets the class.
type CallError struct {
	Class fleet.ErrorClass
	// Message is what the infrastructure said.
	Message string
	// RetryAfter is how long the provider asks to wait; 0: it doesn't say.
	RetryAfter time.Duration
	// Zone and MachineType narrow a capacity or quota error; empty: all.
	Zone        string
	MachineType string
	// Scope narrows it to the plugin's own name of what is full; empty: all.
	Scope string
	// RequestID is the infrastructure's own id, for its support desk.
	RequestID string
}

func (e *CallError) Error() string {
	text := e.Message
	if text == "" {
		text = "no message"
	}
	text += " (" + string(e.Class)
	for _, part := range []struct{ name, value string }{
		{"zone", e.Zone}, {"machine type", e.MachineType}, {"scope", e.Scope}, {"request id", e.RequestID},
	} {
		if part.value != "" {
			text += ", " + part.name + " " + part.value
		}
	}
	if e.RetryAfter > 0 {
		text += fmt.Sprintf(", again after %s", e.RetryAfter)
	}
	return text + ")"
}

// Advice is what a person can do about the error.
func (e *CallError) Advice() string {
	switch e.Class {
	case fleet.ErrorAuth:
		return "renew the credentials of the provider block"
	case fleet.ErrorPermission:
		return "grant the provider's account what is missing"
	case fleet.ErrorQuota:
		return "raise the quota at the provider, or lower the fleet's max"
	case fleet.ErrorCapacity:
		return "allow more zones or machine types, or wait"
	case fleet.ErrorRateLimit:
		return "nothing needs to be done: it is tried again later"
	case fleet.ErrorInvalid:
		return "correct the provider or instance block"
	case fleet.ErrorConflict:
		return "find out who else used the key: it was used with other parameters"
	case fleet.ErrorInternal:
		return "report this to the plugin's author, with the plugin's log lines"
	}
	return "it is tried again; if it stays, see the plugin's log lines"
}

var errorClasses = map[providerpb.Error_Class]fleet.ErrorClass{
	providerpb.Error_CLASS_AUTH:       fleet.ErrorAuth,
	providerpb.Error_CLASS_PERMISSION: fleet.ErrorPermission,
	providerpb.Error_CLASS_QUOTA:      fleet.ErrorQuota,
	providerpb.Error_CLASS_CAPACITY:   fleet.ErrorCapacity,
	providerpb.Error_CLASS_RATE_LIMIT: fleet.ErrorRateLimit,
	providerpb.Error_CLASS_INVALID:    fleet.ErrorInvalid,
	providerpb.Error_CLASS_CONFLICT:   fleet.ErrorConflict,
	providerpb.Error_CLASS_TRANSIENT:  fleet.ErrorTransient,
	providerpb.Error_CLASS_INTERNAL:   fleet.ErrorInternal,
}

// Bounds of what is kept of a plugin's error, in bytes: it is stored and shown.
const (
	maxErrorMessage = 2000
	maxErrorName    = 200
)

// shownText is a plugin's text as it is stored and shown: of so many bytes, and with
// nothing in it that steers a terminal.
func shownText(text string, most int) string {
	return pluginlog.Truncate(pluginlog.Printable(text), most)
}

// callErrorOf converts the contract's error; nil for nil. A class that is unset
// or unknown to this version is transient: it is tried again.
func callErrorOf(e *providerpb.Error) *CallError {
	if e == nil {
		return nil
	}
	class, known := errorClasses[e.GetClass()]
	if !known {
		class = fleet.ErrorTransient
	}
	return &CallError{
		Class:       class,
		Message:     shownText(e.GetMessage(), maxErrorMessage),
		RetryAfter:  durationOf(e.GetRetryAfter()),
		Zone:        shownText(e.GetZone(), maxErrorName),
		MachineType: shownText(e.GetMachineType(), maxErrorName),
		Scope:       shownText(e.GetScope(), maxErrorName),
		RequestID:   shownText(e.GetRequestId(), maxErrorName),
	}
}

// classify turns the error of a whole RPC into a CallError. Without the
// contract's own message among the details, whatever the code, it is transient:
// the codes of a broken connection, a deadline and a crash can't be told apart
// from those that a plugin set.
func classify(err error) *CallError {
	var already *CallError
	if errors.As(err, &already) {
		return already
	}
	if told := toldByPlugin(err); told != nil {
		return callErrorOf(told)
	}
	message := err.Error()
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		message = fmt.Sprintf("%s: %s", s.Code(), s.Message())
	}
	return &CallError{Class: fleet.ErrorTransient, Message: shownText(message, maxErrorMessage)}
}

// toldByPlugin is the contract's error within a status. It proves that the
// plugin answered: nothing in between makes one.
func toldByPlugin(err error) *providerpb.Error {
	s, ok := status.FromError(err)
	if !ok {
		return nil
	}
	for _, detail := range s.Details() {
		if told, ok := detail.(*providerpb.Error); ok {
			return told
		}
	}
	return nil
}
