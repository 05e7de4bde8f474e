package fleet

// ProvisionOutcome is what is known about one instance after it was asked for.
type ProvisionOutcome string

// The outcomes of a provision. The zero value, and any that a reader doesn't
// know, is read as unknown.
const (
	ProvisionCreated  ProvisionOutcome = "created"
	ProvisionExisted  ProvisionOutcome = "existed"  // this key had already made it
	ProvisionAccepted ProvisionOutcome = "accepted" // an order, without a machine yet
	// ProvisionNotCreated is the provider's word: nothing exists, nothing is billed.
	ProvisionNotCreated ProvisionOutcome = "not_created"
	// ProvisionNotSent is our own certainty: no call began, so this attempt made
	// nothing. It says nothing of what an earlier attempt made.
	ProvisionNotSent ProvisionOutcome = "not_sent"
	ProvisionUnknown ProvisionOutcome = "unknown"
)

// TerminateOutcome is what is known about one resource after its removal was
// asked for.
type TerminateOutcome string

// The outcomes of a removal. The zero value, and any that a reader doesn't know,
// is read as unknown.
const (
	TerminateGone     TerminateOutcome = "gone"
	TerminateAccepted TerminateOutcome = "accepted" // under way; an inspection shows it gone
	// TerminateRefused is the provider's word: the resource is still there.
	TerminateRefused TerminateOutcome = "refused"
	// TerminateNotSent is our own certainty: no call began.
	TerminateNotSent TerminateOutcome = "not_sent"
	TerminateUnknown TerminateOutcome = "unknown"
)
