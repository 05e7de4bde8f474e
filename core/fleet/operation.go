package fleet

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// OperationKind is the external effect that an operation stands for.
type OperationKind string

// The kinds of operation.
const (
	ProvisionOperation OperationKind = "provision"
	TerminateOperation OperationKind = "terminate"
)

// OperationState is how far an external effect has come (spec §46):
//
//	Pending → InProgress → Succeeded | NotCreated | Refused | Unknown
//	Unknown → (inspect) → Succeeded | NotCreated | Pending (same key)
type OperationState string

// The operation states. Specification 46 has one Failed; it is split here into
// what is certain: NotCreated (nothing exists) and Refused (it still exists).
const (
	OperationPending    OperationState = "pending"
	OperationInProgress OperationState = "in_progress"
	OperationSucceeded  OperationState = "succeeded"
	OperationNotCreated OperationState = "not_created"
	OperationRefused    OperationState = "refused"
	OperationUnknown    OperationState = "unknown"
	// OperationAccepted: the provider took the order, and it is under way: what was to
	// be made has not appeared, and its absence proves nothing; what was to go is still
	// waited for.
	OperationAccepted OperationState = "accepted"
)

// Open says that the operation's outcome isn't final.
func (s OperationState) Open() bool {
	return s == OperationPending || s == OperationInProgress || s == OperationUnknown || s == OperationAccepted
}

// Operation is one external effect and everything needed to send it again as
// the same bytes (spec §45-48, §151). Only the loop writes it.
type Operation struct {
	ID       OperationID        `json:"id"`
	Kind     OperationKind      `json:"kind"`
	Instance CapacityInstanceID `json:"instance"`
	Fleet    RunnerFleetID      `json:"fleet"`
	Provider ProviderAddress    `json:"provider"`
	State    OperationState     `json:"state"`
	// Request is the canonical request: a ProvisionIntent or a TerminateIntent.
	Request json.RawMessage `json:"request"`
	Created time.Time       `json:"created"`
	// Attempts counts how often the request was handed to the provider.
	Attempts int `json:"attempts"`
	// NotBefore delays the next attempt (back-off, retry-after).
	NotBefore time.Time `json:"not_before,omitzero"`
	// CallOver is when the last call was surely over: answered by the plugin, or
	// its process gone. Settle time counts from it; zero: it may still run.
	CallOver time.Time `json:"call_over,omitzero"`
	// Class is of the last error. Reason is that error, or what became of the operation
	// since.
	Class  ErrorClass    `json:"class,omitempty"`
	Reason reason.Reason `json:"reason,omitzero"`
	// Nonce and TokenHash belong to the enrollment token of a provision
	// operation. The token itself is never stored: it is derived from the
	// installation's enrollment key, the operation's id and the nonce.
	Nonce     []byte `json:"nonce,omitempty"`
	TokenHash string `json:"token_hash,omitempty"`
	// TokenExpires is when the token stops being good.
	TokenExpires time.Time `json:"token_expires,omitzero"`
	// Batch is the operation's place among those that one call makes; zero: its request
	// goes out by itself. Nonce and TokenHash are then the batch's.
	Batch BatchPlace `json:"batch,omitzero"`
}

// BatchPlace is where a provision operation stands in a batch: one call of the
// provider, under a key of its own, that makes an instance for each. All of it goes
// out or none, and its order is part of the request.
type BatchPlace struct {
	// Key is the batch's own, not an operation's; empty: there is no batch.
	Key OperationID `json:"key"`
	// Number counts from 0 to one less than Size.
	Number int `json:"number"`
	Size   int `json:"size"`
}

// TokenKey is what the operation's enrollment token names: the batch whose hosts
// share the token, or the operation itself.
func (o Operation) TokenKey() OperationID { return cmp.Or(o.Batch.Key, o.ID) }

// Offers are those of a provision's request, in their order; none: its provider
// has no market.
func (o Operation) Offers() []Offer {
	var intent struct {
		Offers []Offer `json:"offers"`
	}
	if json.Unmarshal(o.Request, &intent) != nil {
		return nil // sending it reports that it can't be read
	}
	return intent.Offers
}

// ProvisionIntent is the stored request of a provision operation, resolved so
// that a restart or a new configuration can't change what goes out.
type ProvisionIntent struct {
	Fleet          FleetAddress      `json:"fleet"`
	Name           string            `json:"name"`
	Instance       json.RawMessage   `json:"instance"`
	InstanceDigest string            `json:"instance_digest"`
	Image          string            `json:"image,omitempty"`
	Platform       Platform          `json:"platform"`
	Tags           map[string]string `json:"tags"`
	Asset          string            `json:"asset,omitempty"`
	Offers         []Offer           `json:"offers,omitempty"`
	Bootstrap      BootstrapIntent   `json:"bootstrap"`
}

// BootstrapIntent is the first-boot document without its token.
type BootstrapIntent struct {
	Kind          string `json:"kind"`
	ManagerURL    string `json:"manager_url"`
	CAFingerprint string `json:"ca_fingerprint"`
	// ServerName is what the manager's certificate is for, whatever the URL.
	ServerName  string `json:"server_name"`
	AgentURL    string `json:"agent_url,omitempty"`
	AgentSHA256 string `json:"agent_sha256,omitempty"`
}

// TerminateIntent is the stored request of a terminate operation.
type TerminateIntent struct {
	// Key is the provision operation that made the resource.
	Key OperationID `json:"key"`
	// Force skips the graceful stop of the host. The runner is proven idle or
	// the cause is one of specification 35.
	Force bool `json:"force,omitempty"`
}

// ErrorClass is what the caller does about a provider's error. It is set where
// the provider is called and nowhere else.
type ErrorClass string

// The classes of the plugin contract, with what the manager does.
const (
	ErrorAuth       ErrorClass = "auth"       // hold the fleet, tell a person
	ErrorPermission ErrorClass = "permission" // hold the fleet, tell a person
	ErrorQuota      ErrorClass = "quota"      // try elsewhere, and there again later
	ErrorCapacity   ErrorClass = "capacity"   // try elsewhere, and there again later
	ErrorRateLimit  ErrorClass = "rate_limit" // wait as long as the provider says
	ErrorInvalid    ErrorClass = "invalid"    // the fleet's file must change
	ErrorConflict   ErrorClass = "conflict"   // a key with other parameters: hold
	ErrorTransient  ErrorClass = "transient"  // back off, try again
	ErrorInternal   ErrorClass = "internal"   // a bug in the plugin: back off
)

// NeedsPerson says that waiting alone doesn't mend an error of the class.
func (c ErrorClass) NeedsPerson() bool {
	switch c {
	case ErrorAuth, ErrorPermission, ErrorInvalid, ErrorConflict:
		return true
	}
	return false
}
