package fleet

import "time"

// ResourceState is the condition of a provider's resource.
type ResourceState string

// The resource states of the plugin contract.
const (
	ResourceUnclear  ResourceState = "unclear" // exists, condition not known
	ResourcePending  ResourceState = "pending"
	ResourceRunning  ResourceState = "running"
	ResourceStopping ResourceState = "stopping"
	ResourceStopped  ResourceState = "stopped"
	ResourceGone     ResourceState = "gone"
	ResourceFailed   ResourceState = "failed"
)

// Resource is one thing that a provider has, as an inspection shows it.
type Resource struct {
	ID             ProviderInstanceRef `json:"id"`
	Key            OperationID         `json:"key"`
	Fleet          RunnerFleetID       `json:"fleet"`
	State          ResourceState       `json:"state"`
	Addresses      []string            `json:"addresses,omitempty"`
	Created        time.Time           `json:"created,omitzero"`
	BilledUntil    time.Time           `json:"billed_until,omitzero"`
	Zone           string              `json:"zone,omitempty"`
	MachineType    string              `json:"machine_type,omitempty"`
	InstanceDigest string              `json:"instance_digest,omitempty"`
	Tags           map[string]string   `json:"tags,omitempty"`
	Detail         string              `json:"detail,omitempty"`
	Image          string              `json:"image,omitempty"`
	BelongsTo      ProviderInstanceRef `json:"belongs_to,omitempty"`
	// Attested is what the provider vouches for.
	Attested []string `json:"attested,omitempty"`
	Kind     string   `json:"kind,omitempty"`
	// Failure is why a resource in the state failed will never run; nil: it isn't said.
	Failure *ResourceFailure `json:"failure,omitempty"`
}

// ResourceFailure is why an infrastructure that took a request couldn't carry it out.
type ResourceFailure struct {
	Class   ErrorClass `json:"error_class"`
	Message string     `json:"message"`
	// Zone, MachineType and Scope narrow what is about capacity or quota; "": all.
	Zone        string `json:"zone,omitempty"`
	MachineType string `json:"machine_type,omitempty"`
	Scope       string `json:"scope,omitempty"`
}

// Inspection is one look at a provider.
type Inspection struct {
	Resources []Resource
	// Absent lists keys that were asked for and are surely not there.
	Absent []OperationID
	// InFlight lists keys for which a call still runs inside the plugin: they
	// are neither found nor absent.
	InFlight []OperationID
	// Complete says that the list ended without an error. Only then may a
	// missing resource lead to "gone".
	Complete bool
}

// ProviderFacts is what a configured provider says of itself.
type ProviderFacts struct {
	Plugin      string
	Version     string
	Account     string
	Idempotency Idempotency
	Ownership   Ownership
	// ListSettle is how long an inspection may miss a new resource after the
	// call that made it is over.
	ListSettle time.Duration
	// MaxBatch is how many items one call takes; 0: no limit of the provider's.
	MaxBatch int
	// Batches says that one call can make several instances.
	Batches bool
	// InspectionInterval is the least time between two complete inspections; 0: the
	// manager decides.
	InspectionInterval time.Duration
	// InspectsByKey says that asking for a few keys costs less than a complete list.
	InspectsByKey bool
	// InspectionRequests is how many API requests a complete inspection of 100 instances
	// takes; 0: not known.
	InspectionRequests int
}

// Idempotency says what makes a repeated provision safe.
type Idempotency string

// The kinds of idempotency. IdempotencyNone is never sent again without a person.
const (
	IdempotencyNone    Idempotency = "none"
	IdempotencyNative  Idempotency = "native"
	IdempotencyByTag   Idempotency = "by_tag"
	IdempotencyByAsset Idempotency = "by_asset"
)

// SafeToRepeat says whether the same key may be sent again after the call is
// over and an inspection proved the resource absent.
func (i Idempotency) SafeToRepeat() bool {
	return i == IdempotencyNative || i == IdempotencyByTag || i == IdempotencyByAsset
}

// Ownership is the level of evidence that a resource is ours.
type Ownership string

// The levels of ownership evidence. OwnershipNone: nothing may be deleted.
const (
	OwnershipNone     Ownership = "none"
	OwnershipSigned   Ownership = "signed"
	OwnershipNamed    Ownership = "named"
	OwnershipAssigned Ownership = "assigned"
)

// Money is an amount in millionths of a currency unit (spec §105).
type Money struct {
	Micros   int64  `json:"micros"`
	Currency string `json:"currency"`
}
