package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// AssetUnclaimed: an asset isn't claimed by an instance that is to have it.
type AssetUnclaimed struct {
	Asset string `json:"asset"`
}

// Text implements Detail.
func (d AssetUnclaimed) Text() string { return d.Asset + " is not claimed by this instance" }

// TagsDiffer: a resource's tags aren't those that the instance's was made with.
type TagsDiffer struct{}

// Text implements Detail.
func (TagsDiffer) Text() string { return "its tags are not those that it was created with" }

// TagContradicts: a tag of a resource names something else than the instance.
type TagContradicts struct {
	Tag  string `json:"tag"`
	Has  string `json:"has"`
	Want string `json:"want"`
}

// Text implements Detail.
func (d TagContradicts) Text() string {
	return fmt.Sprintf("its tag %s is %s and not %s", d.Tag, text.Quote(d.Has), text.Quote(d.Want))
}

// ProofRejected: the proof that a resource carries isn't this installation's of its tags.
type ProofRejected struct {
	// Kind is no_proof, malformed, unknown_key or another_claim.
	Kind string `json:"kind"`
	// Key is the ownership key that the proof names.
	Key string `json:"key,omitempty"`
}

// Text implements Detail.
func (d ProofRejected) Text() string {
	switch d.Kind {
	case "no_proof":
		return "it carries no ownership proof"
	case "malformed":
		return "its ownership proof is malformed"
	case "unknown_key":
		return fmt.Sprintf("its ownership proof names the key %s, which this installation does not have", d.Key)
	}
	return "its ownership proof was made for something else: its tags were changed or copied, or another made it"
}

// OwnershipUnknown: a plugin proves ownership in a way that this version doesn't know.
type OwnershipUnknown struct {
	Plugin    string `json:"plugin"`
	Ownership string `json:"ownership"`
}

// Text implements Detail.
func (d OwnershipUnknown) Text() string {
	return fmt.Sprintf(
		"plugin %s proves ownership by %s, which this version cannot check",
		d.Plugin,
		text.Quote(d.Ownership),
	)
}

// OtherInstallation: a resource's tags name another installation.
type OtherInstallation struct {
	Installation string `json:"installation"`
}

// Text implements Detail.
func (d OtherInstallation) Text() string {
	return "its tags name the installation " + text.Quote(d.Installation)
}

// KeyCopied: several resources without a record carry one key.
type KeyCopied struct {
	Resources int `json:"resources"`
}

// Text implements Detail.
func (d KeyCopied) Text() string { return fmt.Sprintf("%d resources carry its key", d.Resources) }

// ProofOfOtherKey: a resource's proof is genuine, and of another key than it has.
type ProofOfOtherKey struct {
	Key    string `json:"key"`
	Proven string `json:"proven"`
}

// Text implements Detail.
func (d ProofOfOtherKey) Text() string {
	return fmt.Sprintf("its key is %s, and its ownership proof is for the key %s", text.Quote(d.Key), text.Quote(d.Proven))
}

// KeyUnknown: a resource's key isn't of any operation in the store, and it isn't proven ours
// otherwise.
type KeyUnknown struct {
	Proof Reason `json:"proof"`
}

// Text implements Detail.
func (d KeyUnknown) Text() string {
	return "its key is not of any operation in the store, and " + d.Proof.Text()
}

// NotNamedByKey: a resource isn't named by its key, and it isn't proven ours otherwise.
type NotNamedByKey struct {
	Proof Reason `json:"proof"`
}

// Text implements Detail.
func (d NotNamedByKey) Text() string { return "it is not named by its key, and " + d.Proof.Text() }

// InstanceOfOtherKey: a resource's tags name an instance that was made with another key.
type InstanceOfOtherKey struct {
	Instance string `json:"instance"`
}

// Text implements Detail.
func (d InstanceOfOtherKey) Text() string {
	return fmt.Sprintf("its tags name instance %s, which was created with another key", d.Instance)
}

// KeyOfLiveInstance: a resource's key is of a live instance that has no such resource.
type KeyOfLiveInstance struct {
	Instance string `json:"instance"`
}

// Text implements Detail.
func (d KeyOfLiveInstance) Text() string {
	return fmt.Sprintf("its key is of the live instance %s, which it does not belong to", d.Instance)
}

// KeyOfOtherPlace: a resource's key is of an instance of another provider or account.
type KeyOfOtherPlace struct {
	Provider string `json:"provider,omitempty"`
	Account  string `json:"account,omitempty"`
}

// Text implements Detail.
func (d KeyOfOtherPlace) Text() string {
	if d.Provider != "" {
		return "its key is of an instance of provider " + d.Provider
	}
	return "its key is of an instance that was created in account " + text.Quote(d.Account)
}

// CopyOfEnded: a resource's key is of an ended instance that had another resource.
type CopyOfEnded struct {
	Instance string `json:"instance"`
	Resource string `json:"resource"`
}

// Text implements Detail.
func (d CopyOfEnded) Text() string {
	return fmt.Sprintf(
		"its key is of the ended instance %s, whose resource was %s: this one is a copy",
		d.Instance,
		d.Resource,
	)
}

// ProvenOrphan: a resource's tags carry our proof, and the store doesn't know its key.
type ProvenOrphan struct{}

// Text implements Detail.
func (ProvenOrphan) Text() string {
	return "its tags carry a valid ownership proof, and the store has no instance with its key"
}

// OrphanOfEnded: a resource is of an instance that had ended.
type OrphanOfEnded struct {
	Instance string `json:"instance"`
	// Because is why that had ended.
	Because Reason `json:"because,omitzero"`
}

// Text implements Detail.
func (d OrphanOfEnded) Text() string {
	said := fmt.Sprintf("it belongs to instance %s, which had ended", d.Instance)
	if !d.Because.IsZero() {
		said += " (" + d.Because.Text() + ")"
	}
	return said
}

// LeftAlone: a resource without a record isn't touched unless a person adopts it.
type LeftAlone struct {
	Provider string `json:"provider"`
	Resource string `json:"resource"`
	// Undeclared says that it is an orphan of a fleet that isn't declared any more.
	Undeclared bool `json:"undeclared,omitempty"`
}

// Text implements Detail.
func (d LeftAlone) Text() string {
	if d.Undeclared {
		return "its fleet is no longer declared, so it is not removed automatically"
	}
	return "it is never changed"
}

// Commands implements commander.
func (d LeftAlone) Commands() []Command {
	return []Command{command("remove it", "instance", "adopt", d.Provider, d.Resource, "--fleet", "FLEET", "--remove")}
}

// RemovedAfterGrace: an orphan is removed by itself if it is still there after a time.
type RemovedAfterGrace struct {
	Provider string   `json:"provider"`
	Resource string   `json:"resource"`
	Fleet    string   `json:"fleet"`
	Grace    Duration `json:"grace"`
}

// Text implements Detail.
func (d RemovedAfterGrace) Text() string {
	return fmt.Sprintf("it is removed automatically if it still exists after %s", d.Grace)
}

// Commands implements commander.
func (d RemovedAfterGrace) Commands() []Command {
	return []Command{command("remove it now", "instance", "adopt", d.Provider, d.Resource, "--fleet", d.Fleet, "--remove")}
}

var ownershipReasons = []Detail{
	AssetUnclaimed{"mac-7"},
	TagsDiffer{},
	TagContradicts{"forgeyard-key", "01k7", "01k8"},
	ProofRejected{Kind: "no_proof"},
	OwnershipUnknown{"aws", "prayer"},
	OtherInstallation{"01k0"},
	KeyCopied{2},
	ProofOfOtherKey{"01k8", "01k7"},
	KeyUnknown{Of(ProofRejected{Kind: "no_proof"})},
	NotNamedByKey{Of(ProofRejected{Kind: "unknown_key", Key: "3f2a"})},
	InstanceOfOtherKey{"01k9"},
	KeyOfLiveInstance{"01k9"},
	KeyOfOtherPlace{Provider: "aws.virginia"},
	CopyOfEnded{"01k9", "i-1"},
	ProvenOrphan{},
	OrphanOfEnded{"01k9", Of(RemovalConfirmed{})},
	LeftAlone{Provider: "aws.virginia", Resource: "i-1"},
	RemovedAfterGrace{"aws.virginia", "i-1", "linux", Duration(15 * 60e9)},
}
