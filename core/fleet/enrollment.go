package fleet

import "fmt"

// EnrollmentSubject is all that enrollment must know to authenticate one call of an
// agent: what its token or certificate stands for, read at one moment.
type EnrollmentSubject struct {
	// Operation is the provision operation whose token the agent holds.
	Operation Operation
	Instance  CapacityInstance
	Fleet     ManagedFleet
	// JoinToken says that the token is of a join command, which the next command for
	// the same host voids.
	JoinToken bool
	// Runner is nil until the token was spent.
	Runner *Runner
}

// AlreadyEnrolledError says that the operation's token was spent before: by the
// same agent, whose answer was lost, or by another key.
type AlreadyEnrolledError struct {
	Existing Runner
}

func (e *AlreadyEnrolledError) Error() string {
	return fmt.Sprintf("the token of operation %s was already spent by runner %s", e.Existing.Operation, e.Existing.ID)
}

// ClaimPendingError says that a token is one of a claim whose instance the loop hasn't
// written yet: it is good in a moment.
type ClaimPendingError struct{ Operation OperationID }

func (e *ClaimPendingError) Error() string {
	return fmt.Sprintf("the instance of operation %s isn't written yet", e.Operation)
}

// VoidTokenError says that the operation has another token than the one that was
// shown: it was renewed meanwhile.
type VoidTokenError struct{ Operation OperationID }

func (e *VoidTokenError) Error() string {
	return fmt.Sprintf("the token that was shown for operation %s is void: another took its place", e.Operation)
}
