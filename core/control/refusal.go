package control

import "errors"

// ErrUnauthenticated refuses a caller whom nobody vouches for. It is one sentence
// for a token that is missing, wrong, expired and revoked: who tries tokens
// learns nothing.
var ErrUnauthenticated = errors.New("the token is not accepted: it is missing, wrong, expired or revoked; make one with: forgeyard-fleet token create")

// InvalidError refuses a request that can't be carried out as it is. Its reason
// is for the caller, whoever that is: it holds no secret and ends in what to do.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return e.Reason }

// ConflictError refuses a request that what is there already stands against.
type ConflictError struct{ Reason string }

func (e *ConflictError) Error() string { return e.Reason }
