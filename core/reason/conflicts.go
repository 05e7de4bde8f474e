package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// NotListedNotSilent: a resource isn't listed, and its agent talked too lately for it to be
// gone.
type NotListedNotSilent struct{}

// Text implements Detail.
func (NotListedNotSilent) Text() string {
	return "the provider no longer lists it, and its agent has not been silent long enough to conclude that it is gone"
}

// CannotRepeat: a provider can't repeat a request safely, so only a person can say that it
// made nothing.
type CannotRepeat struct {
	Instance string `json:"instance"`
	Key      string `json:"key"`
}

// Text implements Detail.
func (d CannotRepeat) Text() string {
	return "the provider cannot repeat a request safely: check that nothing was created for key " + d.Key
}

// Commands implements commander.
func (d CannotRepeat) Commands() []Command {
	return []Command{command("say that nothing was created", "instance", "resolve", d.Instance, "--not-created")}
}

// KeyShared: several resources carry an instance's key.
type KeyShared struct {
	Resources int    `json:"resources"`
	Key       string `json:"key"`
}

// Text implements Detail.
func (d KeyShared) Text() string {
	return fmt.Sprintf("%d resources carry the key %s: none is changed until the copies are removed", d.Resources, d.Key)
}

// OwnershipDoubtful: a resource carries an instance's key, and isn't proven to be its own.
type OwnershipDoubtful struct {
	Resource string `json:"resource"`
	Key      string `json:"key"`
	Because  Reason `json:"because"`
}

// Text implements Detail.
func (d OwnershipDoubtful) Text() string {
	return fmt.Sprintf("%s carries the key %s, but is not proven to be this instance's: %s", d.Resource, d.Key,
		d.Because.Text())
}

// WrongAccount: a provider reaches another account than the one that an instance was made in.
type WrongAccount struct {
	Reached string `json:"reached"`
	Made    string `json:"made"`
}

// Text implements Detail.
func (d WrongAccount) Text() string {
	return fmt.Sprintf("the provider now reaches account %s, and this instance was created in %s: its state is unknown",
		text.Quote(d.Reached), text.Quote(d.Made))
}

// ResourceMismatch: another resource than the recorded one carries an instance's key.
type ResourceMismatch struct {
	Shown    string `json:"shown"`
	Key      string `json:"key"`
	Recorded string `json:"recorded"`
}

// Text implements Detail.
func (d ResourceMismatch) Text() string {
	return fmt.Sprintf(
		"the provider shows %s for key %s, but %s is recorded: neither is changed",
		d.Shown,
		d.Key,
		d.Recorded,
	)
}

// ResourceTaken: a resource with an instance's key is recorded for another instance.
type ResourceTaken struct {
	Shown    string `json:"shown"`
	Key      string `json:"key"`
	Instance string `json:"instance"`
}

// Text implements Detail.
func (d ResourceTaken) Text() string {
	return fmt.Sprintf("the provider shows %s for key %s, but it is recorded for instance %s: neither is changed", d.Shown,
		d.Key, d.Instance)
}

// KeyChanged: a recorded resource is listed under another key than it was made with.
type KeyChanged struct {
	Resource string `json:"resource"`
	Key      string `json:"key"`
	Listed   string `json:"listed"`
}

// Text implements Detail.
func (d KeyChanged) Text() string {
	return fmt.Sprintf("%s is recorded for key %s and listed under key %s: it is not changed until you resolve this",
		d.Resource, d.Key, text.Quote(d.Listed))
}

// KeysContested: one resource is listed under two keys.
type KeysContested struct {
	Resource string `json:"resource"`
	Key      string `json:"key"`
	Other    string `json:"other"`
}

// Text implements Detail.
func (d KeysContested) Text() string {
	return fmt.Sprintf(
		"%s is listed under the keys %s and %s: it is not changed until you resolve this",
		d.Resource,
		d.Key,
		text.Quote(d.Other),
	)
}

// BatchUnsupported: a request was stored as one of a batch, and the plugin makes none now.
type BatchUnsupported struct {
	Plugin string `json:"plugin"`
}

// Text implements Detail.
func (d BatchUnsupported) Text() string {
	return fmt.Sprintf("the request is part of a batch, and plugin %s no longer supports batches", d.Plugin)
}

// NotDeletable: this version can't prove that a provider's resources are its own, so it makes
// none.
type NotDeletable struct {
	Plugin    string `json:"plugin"`
	Ownership string `json:"ownership"`
}

// Text implements Detail.
func (d NotDeletable) Text() string {
	return fmt.Sprintf(
		"plugin %s proves ownership by %s, which this version cannot check: it creates nothing that it could "+
			"not delete",
		d.Plugin,
		text.Quote(d.Ownership),
	)
}

// HostUnclaimed: a provider has an inventory, and none of its assets is claimed for an
// instance.
type HostUnclaimed struct {
	Plugin string `json:"plugin"`
}

// Text implements Detail.
func (d HostUnclaimed) Text() string {
	return fmt.Sprintf("plugin %s has an inventory, and no asset of it is claimed for this instance: this version claims "+
		"assets only where a person joins them", d.Plugin)
}

// RequestUnreadable: the stored request of an operation can't be read.
type RequestUnreadable struct {
	Operation string `json:"operation"`
	Message   string `json:"message"`
}

// Text implements Detail.
func (d RequestUnreadable) Text() string {
	return fmt.Sprintf("the stored request of %s cannot be read: %s", d.Operation, text.Clause(d.Message))
}

// MoveRejected: the lifecycle has no such move, which is a bug.
type MoveRejected struct {
	Message string `json:"message"`
}

// Text implements Detail.
func (d MoveRejected) Text() string { return text.Clause(d.Message) }

// FleetRowMissing: the store has an instance, and not its fleet.
type FleetRowMissing struct {
	Instance string `json:"instance"`
	Fleet    string `json:"fleet"`
}

// Text implements Detail.
func (d FleetRowMissing) Text() string {
	return fmt.Sprintf("the store has instance %s of fleet %s but not the fleet", d.Instance, d.Fleet)
}

// OperationRowMissing: the store has an instance, and not the operation that made it.
type OperationRowMissing struct {
	Instance  string `json:"instance"`
	Operation string `json:"operation"`
}

// Text implements Detail.
func (d OperationRowMissing) Text() string {
	return fmt.Sprintf("the store has instance %s without its provision operation %s", d.Instance, d.Operation)
}

var conflictReasons = []Detail{
	NotListedNotSilent{},
	CannotRepeat{"01k9", "01k8"},
	KeyShared{2, "01k8"},
	OwnershipDoubtful{"i-1", "01k8", Of(TagsDiffer{})},
	WrongAccount{"222", "111"},
	ResourceMismatch{"i-2", "01k8", "i-1"},
	ResourceTaken{"i-1", "01k8", "01k7"},
	KeyChanged{"i-1", "01k8", "01k7"},
	KeysContested{"i-1", "01k8", "01k7"},
	BatchUnsupported{"aws"},
	NotDeletable{"aws", "prayer"},
	HostUnclaimed{"manual"},
	RequestUnreadable{"01k8", "unexpected end of JSON input"},
	MoveRejected{"instance 01k9 can't go from healthy to requested"},
	FleetRowMissing{"01k9", "01k0"},
	OperationRowMissing{"01k9", "01k8"},
}
