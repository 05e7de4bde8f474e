package provider

import (
	"log/slog"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Resource is one thing that the infrastructure has: an instance, or what
// belongs to one.
type Resource struct {
	// ID is the infrastructure's own name for it. Empty with the state Pending:
	// an order that has no machine yet (the host follows it by key).
	ID string
	// Key is the key that made it; Provision may leave it empty.
	Key string
	// Fleet is echoed from the request that made it. Provision may leave it empty.
	Fleet string
	State State
	// Failure says why a resource with the state Failed will never run. Capacity and
	// Quota in it rest the offer that was used, as they do in an error of Provision:
	// this is for an infrastructure that first takes a request and then can't carry it
	// out. The resource must still be terminated.
	Failure *Error
	// Existed is for Provision only: the key had made this resource before.
	Existed   bool
	Addresses []string
	Created   time.Time
	// BilledUntil is the end of what is paid for anyway, such as a 24 h minimum.
	BilledUntil time.Time
	Zone        string
	MachineType string
	// InstanceDigest is echoed from the request that made it, for drift.
	InstanceDigest string
	// Tags as the infrastructure stored them, the ownership proof among them.
	Tags map[string]string
	// Detail is one line for a person.
	Detail string
	// Image is what it really runs.
	Image string
	// BelongsTo is the id of the instance where this is a secondary resource.
	BelongsTo string
	// Attested is what the infrastructure vouches for of its own knowledge, and an
	// agent could only claim: any of Plugin.Attestations.
	Attested []string
	// Kind is "instance" where empty; else "volume", "address", "asset", …
	Kind string
}

// State is the condition of a resource.
type State int

// The states. The zero value says: it exists, its condition isn't known.
const (
	Unclear  = State(providerpb.Resource_STATE_UNSPECIFIED)
	Pending  = State(providerpb.Resource_STATE_PENDING)
	Running  = State(providerpb.Resource_STATE_RUNNING)
	Stopping = State(providerpb.Resource_STATE_STOPPING)
	Stopped  = State(providerpb.Resource_STATE_STOPPED)
	// Deleted is for infrastructures that list the deleted for a while. It is for good: the
	// host takes it as the proof that the resource of this id is gone, and waits for nothing.
	Deleted = State(providerpb.Resource_STATE_GONE)
	// Failed will never run, and must still be terminated.
	Failed = State(providerpb.Resource_STATE_FAILED)
)

// Query narrows an inspection to keys or ids. Both empty: everything.
type Query struct {
	Keys []string
	IDs  []string
}

// ProvisionRequest asks for one instance. The same key comes with the same
// content whenever it is sent again.
type ProvisionRequest[I any] struct {
	// Key identifies the create: 1 to 63 lower-case letters, digits and dashes,
	// safe in names, tags and paths.
	Key string
	// Name is for people: the fleet's name and part of the key.
	Name string
	// Fleet is the id of the fleet, a Label. It is echoed in Resource.
	Fleet    string
	Image    string
	Platform Platform
	// Tags must be stored with the resource and listed again as they are. The names are
	// the constants of tags.go, the values Labels.
	Tags map[string]string
	// Asset is the machine that the host chose, where instances are machines of
	// an inventory.
	Asset string
	// Offers are ordered and exhaustive: use the first that works, and no other. On
	// a shortage either try the next one or return NotCreated(Capacity, …) with the
	// zone and the machine type: another request follows at once with what is left.
	// Empty where the plugin has no Market.
	Offers []Offer
	// Bootstrap is secret: render it for the first boot and log it nowhere.
	Bootstrap bootstrap.Document
	// Instance is the fleet's instance block.
	Instance I
	// InstanceDigest is a Label that is echoed in Resource.
	InstanceDigest string
}

// LogValue keeps the bootstrap document and sensitive attributes out of logs.
func (r ProvisionRequest[I]) LogValue() slog.Value {
	return slog.GroupValue(slog.String("key", r.Key), slog.String("fleet", r.Fleet))
}

// Platform is what the instance must be.
type Platform struct {
	OS   string
	Arch string
}

// Ref names one resource to remove. ID is empty for an order without one, Key
// for what no key made; never both.
type Ref struct {
	ID    string
	Key   string
	Force bool // skip the graceful stop
}

// TerminateState is how far a removal got.
type TerminateState int

// The ends of a removal. The zero value means unknown.
const (
	TerminateUnknown = TerminateState(providerpb.TerminateResponse_OUTCOME_UNKNOWN)
	// Gone: it doesn't exist, whatever removed it.
	Gone = TerminateState(providerpb.TerminateResponse_OUTCOME_GONE)
	// TerminateAccepted: under way; an inspection will show it gone.
	TerminateAccepted = TerminateState(providerpb.TerminateResponse_OUTCOME_ACCEPTED)
	// Refused: certainly still there.
	Refused = TerminateState(providerpb.TerminateResponse_OUTCOME_REFUSED)
)

// Idempotency is what makes a repeated create safe.
type Idempotency int

// The kinds of idempotency.
const (
	NotIdempotent     = Idempotency(providerpb.Idempotency_IDEMPOTENCY_NONE)
	IdempotentNative  = Idempotency(providerpb.Idempotency_IDEMPOTENCY_NATIVE)   // the API takes a client token
	IdempotentByTag   = Idempotency(providerpb.Idempotency_IDEMPOTENCY_BY_TAG)   // look up the key, then create
	IdempotentByAsset = Idempotency(providerpb.Idempotency_IDEMPOTENCY_BY_ASSET) // a key is bound to a known machine
)

// Ownership is the evidence that a resource is ours.
type Ownership int

// The levels of evidence.
const (
	OwnershipSigned   = Ownership(providerpb.Ownership_OWNERSHIP_SIGNED)   // tags carry the host's proof
	OwnershipNamed    = Ownership(providerpb.Ownership_OWNERSHIP_NAMED)    // the key is the name
	OwnershipAssigned = Ownership(providerpb.Ownership_OWNERSHIP_ASSIGNED) // an asset that the host claimed
)
