package loop

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Event is something that happened outside since the last step. Facts that
// agents report are no events: they are read from the store, and a step without
// any event takes them in.
type Event interface{ isEvent() }

// ClockSet says that the clock was set since the last step: by how much more than
// time went by. What the clock says of the time before isn't believed any more.
type ClockSet struct{ By time.Duration }

// ProviderReady says that a plugin process is configured and answers. Any
// earlier process of the provider is gone.
type ProviderReady struct {
	Provider fleet.ProviderAddress
	Facts    fleet.ProviderFacts
}

// ProviderDown says that no plugin process answers for the provider.
type ProviderDown struct {
	Provider fleet.ProviderAddress
	Reason   string
	// Detail is the whole story, with the plugin's last log lines; "": there is
	// no more to say than Reason.
	Detail string
	// NeedsPerson says that it won't come back by itself.
	NeedsPerson bool
	// Starting says that nothing went wrong: it is only being started, or stopped as
	// it should be.
	Starting bool
}

// Applied says that somebody applied the files, changed or not: what made instances
// fail, or kept a market from answering, may be mended. Fleets and markets that wait for
// their next try have it now, unless their provider said how long to wait.
type Applied struct{}

// Inspected is the end of an Inspect effect. With a Failure the inspection
// holds what was seen until then and isn't complete.
type Inspected struct {
	Provider fleet.ProviderAddress
	// Keys are those of the effect.
	Keys       []fleet.OperationID
	Began      time.Time
	Inspection fleet.Inspection
	Failure    *Failure
}

// ProvisionAnswered is the end of a Provision effect.
type ProvisionAnswered struct {
	Operation fleet.OperationID
	Outcome   fleet.ProvisionOutcome
	Resource  fleet.Resource
	Failure   *Failure
	// CallOver says that no call for the operation can still be running: the
	// plugin answered, or its process is gone. False after a deadline of ours.
	CallOver bool
}

// BatchAnswered is the end of a ProvisionBatch effect: one answer for each member.
type BatchAnswered struct {
	Answers []ProvisionAnswered
}

// TerminateAnswered is the end of a Terminate effect.
type TerminateAnswered struct {
	Operation fleet.OperationID
	Outcome   fleet.TerminateOutcome
	Failure   *Failure
}

// Failure is a provider's error as it was classified where it was called.
type Failure struct {
	Class      fleet.ErrorClass
	Message    string
	RetryAfter time.Duration
	// Zone, MachineType and Scope narrow what is about capacity or quota; "": all.
	Zone, MachineType, Scope string
	// because is what went wrong where the loop found that itself; zero: Message is.
	because reason.Reason
}

// reason is what went wrong.
func (f *Failure) reason() reason.Reason {
	if !f.because.IsZero() {
		return f.because
	}
	if f.Message == "" {
		return reason.Reason{}
	}
	return reason.Of(reason.ProviderError{Message: f.Message})
}

// Ordered is a person's decision about one instance or resource. It ends in an
// OrderOutcome of a later Result.
type Ordered struct {
	Order Order
}

func (ClockSet) isEvent()          {}
func (ProviderReady) isEvent()     {}
func (ProviderDown) isEvent()      {}
func (Applied) isEvent()           {}
func (Inspected) isEvent()         {}
func (ProvisionAnswered) isEvent() {}
func (BatchAnswered) isEvent()     {}
func (TerminateAnswered) isEvent() {}
func (Ordered) isEvent()           {}

// Effect is something to do outside. It is returned after its intent was
// committed, and ends in exactly one event.
type Effect interface{ isEffect() }

// Inspect asks for everything that the provider has of the installation, or where keys
// are given for what they made.
type Inspect struct {
	Provider fleet.ProviderAddress
	Keys     []fleet.OperationID
}

// Provision sends a stored request. The operation carries all of it; the
// enrollment token is derived from its id and nonce when it goes out.
type Provision struct {
	Provider  fleet.ProviderAddress
	Operation fleet.Operation
	Intent    fleet.ProvisionIntent
}

// ProvisionBatch sends the stored requests of a whole batch as one call under its
// key, also those of members that are made already: it is the same call every time.
type ProvisionBatch struct {
	Provider fleet.ProviderAddress
	Key      fleet.OperationID
	// Members are in the batch's order.
	Members []Provision
}

// Terminate removes one resource whose ownership was proven by an inspection
// begun after the intent was stored.
type Terminate struct {
	Provider  fleet.ProviderAddress
	Instance  fleet.CapacityInstanceID
	Operation fleet.OperationID
	Resource  fleet.ProviderInstanceRef
	Key       fleet.OperationID
	Force     bool
	// Left says that the instance itself is gone, and Resource is what it left behind.
	Left bool
}

func (Inspect) isEffect()        {}
func (Provision) isEffect()      {}
func (ProvisionBatch) isEffect() {}
func (Terminate) isEffect()      {}
