package scheduler

import (
	"errors"
	"fmt"
)

// RefusedError is a scheduler's certain no: nothing was changed, and the same
// call gets the same answer until a person changes something.
type RefusedError struct {
	// Doing names the call and the runner.
	Doing string
	// Answer is what the scheduler said.
	Answer string
	// Advice is what the user can do.
	Advice string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: the scheduler refused: %s. %s", e.Doing, e.Answer, e.Advice)
}

// ErrUnknownRunner says that the scheduler doesn't know the runner: it was never
// admitted there, or is forgotten.
var ErrUnknownRunner = errors.New("the scheduler doesn't know the runner")

// NotSentError says that a call never went out, so that it surely had no effect.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return e.Err.Error() }

func (e *NotSentError) Unwrap() error { return e.Err }

// NonsenseError is an answer that can't be true. Nothing may be concluded from
// it.
type NonsenseError struct {
	Doing string
	Err   error
}

func (e *NonsenseError) Error() string {
	return fmt.Sprintf("%s: the scheduler's answer makes no sense, and nothing is concluded from it: %v", e.Doing, e.Err)
}

func (e *NonsenseError) Unwrap() error { return e.Err }
