package reason

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// ProviderError: a provider answered with an error.
type ProviderError struct {
	Message string `json:"message"`
}

// Text implements Detail.
func (d ProviderError) Text() string { return text.Clause(d.Message) }

// AnswerLost: a call to a provider has no answer that the manager knows.
type AnswerLost struct {
	// Stopping says that the manager stopped, and not that it ended or couldn't store the
	// answer.
	Stopping bool `json:"stopping,omitempty"`
}

// Text implements Detail.
func (d AnswerLost) Text() string {
	if d.Stopping {
		return "the manager stopped before the answer arrived"
	}
	return "the manager ended, or could not store the answer"
}

// ProvenAbsent: a complete inspection proves that a request whose outcome was unknown made
// nothing.
type ProvenAbsent struct {
	// BatchBroken says that the request isn't sent again, since members of its batch are gone.
	BatchBroken bool `json:"batch_broken,omitempty"`
}

// Text implements Detail.
func (d ProvenAbsent) Text() string {
	if d.BatchBroken {
		return "proven absent by inspection, and its batch is not sent again without the members that are gone"
	}
	return "proven absent by inspection"
}

// FoundUnfinished: an inspection shows what a request made, and it doesn't run.
type FoundUnfinished struct{}

// Text implements Detail.
func (FoundUnfinished) Text() string { return "found, but not running: it may be incomplete" }

// FoundByInspection: an inspection shows what a request made.
type FoundByInspection struct {
	// Ended says that its instance had ended, Unrecorded that it was not in the store.
	Ended      bool `json:"ended,omitempty"`
	Unrecorded bool `json:"unrecorded,omitempty"`
}

// Text implements Detail.
func (d FoundByInspection) Text() string {
	switch {
	case d.Ended:
		return "found by inspection after it had ended"
	case d.Unrecorded:
		return "found by inspection, and not recorded before"
	}
	return "found by inspection"
}

// CreationAccepted: the provider accepted a request, and its resource doesn't exist yet.
type CreationAccepted struct{}

// Text implements Detail.
func (CreationAccepted) Text() string {
	return "accepted by the provider; the resource has not appeared yet"
}

// CreatedAfterAll: the provider says that nothing was created, but something was seen of it.
type CreatedAfterAll struct {
	Because Reason `json:"because,omitzero"`
}

// Text implements Detail.
func (d CreatedAfterAll) Text() string {
	return withCause("the provider says that nothing was created, but it was seen", d.Because)
}

// NotSent: a request was cancelled before it went out.
type NotSent struct{}

// Text implements Detail.
func (NotSent) Text() string { return "cancelled before it was sent" }

// RemovalAccepted: the provider accepted to remove a resource, and it isn't gone yet.
type RemovalAccepted struct {
	// Dangling says that the instance is gone, and what belonged to it is looked for.
	Dangling bool `json:"dangling,omitempty"`
}

// Text implements Detail.
func (d RemovalAccepted) Text() string {
	if d.Dangling {
		return "the provider confirmed that it is gone; checking what belonged to it"
	}
	return "accepted by the provider; waiting until it is gone"
}

// SchedulerTakesJobsBack: a removal waits for the scheduler to take the instance's jobs back.
type SchedulerTakesJobsBack struct{}

// Text implements Detail.
func (SchedulerTakesJobsBack) Text() string { return "waiting for its scheduler to take the jobs back" }

// InspectionAwaited: no inspection was made since it was decided to remove an instance.
type InspectionAwaited struct{}

// Text implements Detail.
func (InspectionAwaited) Text() string { return "waiting for an inspection since it was decided" }

// CallInFlight: a call with an instance's key still runs inside the plugin.
type CallInFlight struct{}

// Text implements Detail.
func (CallInFlight) Text() string { return "a call with its key is still running in the plugin" }

// KeyNotListed: no resource carries an instance's key.
type KeyNotListed struct {
	// Yet says that a list may lag, so that one may still appear.
	Yet bool `json:"yet,omitempty"`
}

// Text implements Detail.
func (d KeyNotListed) Text() string {
	if d.Yet {
		return "no resource carries its key yet"
	}
	return "no resource carries its key"
}

// RemovalTried is a secondary resource that is still there after attempts to remove it.
type RemovalTried struct {
	Resource ResourceName `json:"resource"`
	Attempts int          `json:"attempts"`
	// Because is what the provider said last; zero: nothing.
	Because Reason `json:"because,omitzero"`
}

func (d RemovalTried) text() string {
	why := "the provider gave no reason"
	if !d.Because.IsZero() {
		why = d.Because.Text()
	}
	return fmt.Sprintf(
		"%s still exists after %s to remove it: %s",
		d.Resource.text(),
		text.Plural(d.Attempts, "attempt"),
		why,
	)
}

// DanglingRemains: what an instance left behind couldn't be removed so far.
type DanglingRemains struct {
	Resources List[RemovalTried] `json:"resources"`
}

// Text implements Detail.
func (d DanglingRemains) Text() string {
	return strings.Join(d.Resources.parts(RemovalTried.text), "; ")
}

var operationReasons = []Detail{
	ProviderError{"no space left on device"},
	AnswerLost{},
	ProvenAbsent{},
	FoundUnfinished{},
	FoundByInspection{Ended: true},
	CreationAccepted{},
	CreatedAfterAll{Of(ProviderError{"no such image"})},
	NotSent{},
	RemovalAccepted{},
	SchedulerTakesJobsBack{},
	InspectionAwaited{},
	CallInFlight{},
	KeyNotListed{Yet: true},
	DanglingRemains{ListOf(RemovalTried{exampleVolume, 3, Of(ProviderError{"it is attached"})})},
}
