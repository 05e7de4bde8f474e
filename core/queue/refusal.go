package queue

import "fmt"

// RefusalKind says what a caller can do about a refusal.
type RefusalKind int

// The kinds of refusal.
const (
	// Invalid: the request itself is wrong.
	Invalid RefusalKind = iota
	// UnknownRunner: it was not admitted here, or was removed. It may be admitted
	// (again).
	UnknownRunner
	// UnknownJob: there is none of this name, or it is over for long.
	UnknownJob
	// Void: the lease is not the caller's any more. What it runs for it has to end.
	Void
	// Superseded: another process works for this runner now.
	Superseded
	// Full: more is not taken now.
	Full
)

// RefusedError is a certain no: nothing was changed.
type RefusedError struct {
	Kind RefusalKind
	Text string
}

func (e *RefusedError) Error() string { return e.Text }

func refuse(kind RefusalKind, format string, a ...any) error {
	return &RefusedError{Kind: kind, Text: fmt.Sprintf(format, a...)}
}
