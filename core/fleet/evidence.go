package fleet

import "time"

// Evidence is what a host's platform signed about it, as its agent found it. It
// may come from any client that can reach the manager, and proves nothing before the
// provider's plugin has verified it.
type Evidence struct {
	// Kind is whose form it has: "aws".
	Kind                string
	Document, Signature []byte
}

// MaxEvidenceBytes bounds a document and a signature, each.
const MaxEvidenceBytes = 16 << 10

// IdentityQuestion asks whether evidence is of one instance.
type IdentityQuestion struct {
	Evidence Evidence
	Fleet    FleetAddress
	// Key and Resource are of the instance that the host must be; both empty: it may be
	// any of a batch, and the answer says which.
	Key      OperationID
	Resource ProviderInstanceRef
}

// VerifiedIdentity is what the provider's own signature says of a host. It stays
// with the runner that enrolled by it.
type VerifiedIdentity struct {
	Kind     string              `json:"kind"`
	Resource ProviderInstanceRef `json:"resource"`
	Account  string              `json:"account,omitempty"`
	Region   string              `json:"region,omitempty"`
	Image    string              `json:"image,omitempty"`
	// Issued is the document's own time; zero: it has none.
	Issued time.Time `json:"issued,omitzero"`
	// Verified is when the manager had it verified.
	Verified time.Time `json:"verified"`
}

// IdentityRefusal is why evidence is certainly not good.
type IdentityRefusal string

// The refusals.
const (
	IdentityUnreadable    IdentityRefusal = "unreadable"
	IdentityBadSignature  IdentityRefusal = "bad signature"
	IdentityOtherAccount  IdentityRefusal = "other account"
	IdentityOtherRegion   IdentityRefusal = "other region"
	IdentityOtherInstance IdentityRefusal = "other instance"
	// IdentityStale: a newer document may be good.
	IdentityStale IdentityRefusal = "stale"
)

// IdentityRefusedError is a certain refusal. Any other error of a verification says
// that the result isn't known now.
type IdentityRefusedError struct {
	Refusal IdentityRefusal
	// Reason is the plugin's line for a person.
	Reason string
}

func (e *IdentityRefusedError) Error() string { return string(e.Refusal) + ": " + e.Reason }

// IdentityTakenError says that the agent of another instance has enrolled as the
// same resource.
type IdentityTakenError struct {
	Resource ProviderInstanceRef
	Other    CapacityInstanceID
}

func (e *IdentityTakenError) Error() string {
	return "the agent of instance " + string(e.Other) + " has enrolled as " + string(e.Resource)
}
