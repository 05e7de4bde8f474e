package fleet

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Classification is what an inspected resource without a live record is to the
// installation (spec §157, §159).
type Classification string

// Orphan: proven ours, and nothing accounts for it. Foreign: not proven ours,
// whatever its tags say; it is never touched.
const (
	Orphan  Classification = "orphan"
	Foreign Classification = "foreign"
)

// UnrecordedResource is a resource that a provider lists for the installation
// and that no live instance accounts for.
type UnrecordedResource struct {
	Provider ProviderAddress     `json:"provider"`
	ID       ProviderInstanceRef `json:"id"`
	// Kind is "instance", "volume", "address", ….
	Kind           string         `json:"kind"`
	Key            OperationID    `json:"key,omitempty"`
	Classification Classification `json:"classification"`
	// Fleet is the one that an orphan belongs to, where that is still declared.
	Fleet FleetAddress  `json:"fleet,omitempty"`
	State ResourceState `json:"state,omitempty"`
	// Reason is why it is an orphan, or why it isn't ours.
	Reason reason.Reason `json:"reason"`
	// Decide is what happens next. Its commands are those by which a person decides.
	Decide reason.Reason `json:"decide"`
	// FirstSeen is when the first of the complete inspections that all showed it
	// began.
	FirstSeen time.Time `json:"first_seen"`
	// RemovedAfter is when an orphan is removed if it is still there; zero: never
	// by itself.
	RemovedAfter time.Time `json:"removed_after,omitzero"`
}

// Unrecorded is what one provider has without a live record.
type Unrecorded struct {
	Orphans int `json:"orphans"`
	Foreign int `json:"foreign"`
	// Resources are the first of them; Orphans and Foreign count all.
	Resources []UnrecordedResource `json:"resources"`
}
