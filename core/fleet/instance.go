package fleet

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// CapacityInstanceState is a state of the provisioned host lifecycle (spec §51). The
// allowed moves are lifecycle's.
type CapacityInstanceState string

// The states of section 51.
const (
	Requested     CapacityInstanceState = "requested"
	Provisioning  CapacityInstanceState = "provisioning"
	Bootstrapping CapacityInstanceState = "bootstrapping"
	Enrolling     CapacityInstanceState = "enrolling"
	Healthy       CapacityInstanceState = "healthy"
	Draining      CapacityInstanceState = "draining"
	Quarantined   CapacityInstanceState = "quarantined"
	Failed        CapacityInstanceState = "failed"
	Terminating   CapacityInstanceState = "terminating"
	Terminated    CapacityInstanceState = "terminated"
)

// CapacityInstanceStates lists all states in the order of their lifecycle.
func CapacityInstanceStates() []CapacityInstanceState {
	return []CapacityInstanceState{Requested, Provisioning, Bootstrapping, Enrolling, Healthy, Draining,
		Quarantined, Failed, Terminating, Terminated}
}

// DrainStep is how far a drain has come.
type DrainStep string

// Cordoned is reversible; Stopping is not, since the agent has been told.
const (
	NotDraining DrainStep = ""
	Cordoned    DrainStep = "cordoned"
	Stopping    DrainStep = "stopping"
)

// CapacityInstance is one unit of capacity (spec §52): what the loop knows of it.
// Only the loop writes it.
type CapacityInstance struct {
	ID       CapacityInstanceID `json:"id"`
	Fleet    RunnerFleetID      `json:"fleet"`
	Provider ProviderAddress    `json:"provider"`
	// Account is what the provider's credentials reached when the request went
	// out. Seen from another account, the resource would look gone.
	Account string `json:"account,omitempty"`
	// ProviderInstance is empty until the provider named the resource.
	ProviderInstance ProviderInstanceRef `json:"provider_instance,omitempty"`
	// Runner is empty until an agent enrolled.
	Runner RunnerID `json:"runner,omitempty"`
	// Asset is the host of the provider's inventory that the instance has; empty:
	// the provider makes its hosts.
	Asset string `json:"asset,omitempty"`
	// Key is the operation that provisions the instance.
	Key   OperationID           `json:"key"`
	State CapacityInstanceState `json:"state"`
	// Since is when State was entered; deadlines count from it.
	Since time.Time `json:"since"`
	// Cause and Reason tell why State was entered: a lifecycle cause, and the reason for
	// people.
	Cause  string        `json:"cause"`
	Reason reason.Reason `json:"reason,omitzero"`
	Drain  DrainStep     `json:"drain,omitempty"`
	// Ended is the cause for which it left its useful states; empty before, and
	// where it was simply found gone.
	Ended   string    `json:"ended,omitempty"`
	Created time.Time `json:"created"`
	// Class, Image and InstanceDigest are what it was made from, for drift.
	Class          CapacityClassID `json:"class"`
	Image          RunnerImageID   `json:"image"`
	InstanceDigest string          `json:"instance_digest"`
	// ImageDigest is the declared digest of the image that it was made from; empty:
	// its provider has no images.
	ImageDigest string `json:"image_digest,omitempty"`
	// Cost is what it was to cost when it was asked for.
	Cost InstanceCost `json:"cost,omitzero"`
	// Seen is the last state that an answer or an inspection showed; empty before
	// any did.
	Seen ResourceState `json:"seen,omitempty"`
	// EverRunning is set once an inspection showed the resource running.
	EverRunning bool `json:"ever_running,omitempty"`
	// SeenAt is when the first inspection that showed the resource began.
	SeenAt time.Time `json:"seen_at,omitzero"`
	// Zone, MachineType, Addresses and Detail are what the provider says of it.
	Zone      string   `json:"zone,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	// Detail is the provider's line for a person as of the last change of Seen.
	Detail string `json:"detail,omitempty"`
	// RunsImage is the image that the provider says it runs.
	RunsImage   string `json:"runs_image,omitempty"`
	MachineType string `json:"machine_type,omitempty"`
	// Attested is what the provider vouches for, sorted.
	Attested []string `json:"attested,omitempty"`
	// Admission is the last verdict on the enrolled agent.
	Admission Admission `json:"admission"`
	// Interruption is the gravest notice of its provider; nil: there was none.
	Interruption *Interruption `json:"interruption,omitempty"`
	// Scheduling is what its scheduler knows of it.
	Scheduling Scheduling `json:"scheduling,omitzero"`
	// Conflict says why nothing is done about the instance: for example, two
	// resources carry its key. Zero: no conflict.
	Conflict reason.Reason `json:"conflict,omitzero"`
	// Adopted is who took a foreign resource onto the books to have it removed. It
	// is found by its id and not by a key, and their word is the evidence.
	Adopted string `json:"adopted,omitempty"`
}

// Live says that the instance isn't proven gone.
func (i CapacityInstance) Live() bool { return i.State != Terminated }

// Concluded says that the instance is gone and that everybody who must know has
// been told: the loop is done with it.
func (i CapacityInstance) Concluded() bool { return i.State == Terminated && !i.Scheduling.Told() }

// RunnerAdmissionState is the verdict on an enrolled runner (spec §71).
type RunnerAdmissionState string

// The admission states.
const (
	AdmissionPending     RunnerAdmissionState = "pending"
	AdmissionVerified    RunnerAdmissionState = "verified"
	AdmissionRejected    RunnerAdmissionState = "rejected"
	AdmissionQuarantined RunnerAdmissionState = "quarantined"
)

// Admission is a verdict with the evidence of each check (spec §70).
type Admission struct {
	State RunnerAdmissionState `json:"state,omitempty"`
	// Policy is what the fleet asked for when the verdict was given.
	Policy AdmissionPolicy  `json:"policy"`
	Checks []AdmissionCheck `json:"checks,omitempty"`
}

// AdmissionCheck is one check of an admission with what it saw.
type AdmissionCheck struct {
	Name     string        `json:"name"`
	Result   CheckResult   `json:"result"`
	Evidence reason.Reason `json:"evidence"`
}

// CheckResult says what one check leads to.
type CheckResult string

// Passed lets admission continue, Waiting leaves it pending, Refused rejects the
// runner for good, Suspicious quarantines the instance.
const (
	Passed     CheckResult = "passed"
	Waiting    CheckResult = "waiting"
	Refused    CheckResult = "refused"
	Suspicious CheckResult = "suspicious"
)
