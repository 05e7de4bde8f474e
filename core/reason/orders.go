package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// ChangeInUse: the manager goes by a stored change now.
type ChangeInUse struct{}

// Text implements Detail.
func (ChangeInUse) Text() string { return "the manager uses it now" }

// DrainStarted: an instance drains.
type DrainStarted struct {
	// Before says that it drained already, Kept that it would have been taken back.
	Before bool `json:"before,omitempty"`
	Kept   bool `json:"kept,omitempty"`
	// Frozen says that its fleet or provider is frozen: nothing is removed or created.
	Frozen bool `json:"frozen,omitempty"`
}

// Text implements Detail.
func (d DrainStarted) Text() string {
	switch {
	case d.Kept:
		return "it is already draining, and stays so even if it is needed again"
	case d.Before:
		return "it is already draining"
	case d.Frozen:
		return "it drains: it takes no more jobs; its fleet is frozen, so it is removed and replaced only after the " +
			"freeze is cleared"
	}
	return "it drains: it leaves after its job, and the fleet replaces it if needed"
}

// UnusedRemoved: an instance that never had a job is removed at once.
type UnusedRemoved struct{}

// Text implements Detail.
func (UnusedRemoved) Text() string { return "it never ran a job and is removed at once" }

// InState: what was asked for is so already.
type InState struct {
	State string `json:"state"`
}

// Text implements Detail.
func (d InState) Text() string { return "it is already " + d.State }

// RemovedWithJob: an instance is removed although a job may run on it.
type RemovedWithJob struct{}

// Text implements Detail.
func (RemovedWithJob) Text() string { return "it is removed without waiting for its job" }

// ResourceRecorded: a resource is recorded as an instance's.
type ResourceRecorded struct {
	Resource string `json:"resource"`
}

// Text implements Detail.
func (d ResourceRecorded) Text() string { return d.Resource + " is recorded as its resource" }

// ClosedByWord: an operation or an instance is closed on a person's word.
type ClosedByWord struct {
	// NotCreated says that nothing was made.
	NotCreated bool `json:"not_created,omitempty"`
}

// Text implements Detail.
func (d ClosedByWord) Text() string {
	if d.NotCreated {
		return "it is closed: nothing was created for its key"
	}
	return "it is closed"
}

// AdoptedForRemoval: a resource is recorded as a fleet's, and is removed.
type AdoptedForRemoval struct {
	Fleet string `json:"fleet"`
}

// Text implements Detail.
func (d AdoptedForRemoval) Text() string { return "it is recorded for " + d.Fleet + " and is removed" }

// InstanceUnknown: there is no live instance of an id.
type InstanceUnknown struct {
	Instance string `json:"instance"`
}

// Text implements Detail.
func (d InstanceUnknown) Text() string {
	return fmt.Sprintf("instance %s has ended or never existed", d.Instance)
}

// FleetUnknown: there is no fleet of a name.
type FleetUnknown struct {
	Fleet string `json:"fleet"`
}

// Text implements Detail.
func (d FleetUnknown) Text() string { return "there is no " + d.Fleet }

// OrderUnknown: the manager's version doesn't know an order.
type OrderUnknown struct {
	Order string `json:"order"`
}

// Text implements Detail.
func (d OrderUnknown) Text() string {
	return "this version does not know the order " + text.Quote(d.Order)
}

// NotInspectedInTime: a provider couldn't be inspected in time for an order.
type NotInspectedInTime struct {
	Because Reason `json:"because,omitzero"`
}

// Text implements Detail.
func (d NotInspectedInTime) Text() string {
	return withCause("its provider could not be inspected in time", d.Because)
}

// QuarantinedAlready: a quarantined instance gets no job and leaves by itself.
type QuarantinedAlready struct {
	Instance string `json:"instance"`
}

// Text implements Detail.
func (QuarantinedAlready) Text() string {
	return "it is quarantined: it gets no jobs, and leaves once no job can be on it"
}

// Commands implements commander.
func (d QuarantinedAlready) Commands() []Command {
	return []Command{command("give up its job", "drain", d.Instance, "--force")}
}

// RequestUnanswered: an instance's request is under way at the provider.
type RequestUnanswered struct {
	State string `json:"state"`
}

// Text implements Detail.
func (d RequestUnanswered) Text() string {
	return fmt.Sprintf("it is %s: wait until the provider has answered its request", d.State)
}

// TakesJobs: an instance takes jobs, so it must drain before its job may be given up.
type TakesJobs struct {
	Instance string `json:"instance"`
}

// Text implements Detail.
func (TakesJobs) Text() string {
	return "it takes jobs: drain it without --force first, and give it time to finish its job"
}

// Commands implements commander.
func (d TakesJobs) Commands() []Command { return []Command{command("drain it", "drain", d.Instance)} }

// ForceUnneeded: an instance never had a job, so nothing must be given up.
type ForceUnneeded struct {
	Instance string `json:"instance"`
	State    string `json:"state"`
}

// Text implements Detail.
func (d ForceUnneeded) Text() string {
	return fmt.Sprintf("it is %s and never ran a job: drain it without --force", d.State)
}

// Commands implements commander.
func (d ForceUnneeded) Commands() []Command {
	return []Command{command("drain it", "drain", d.Instance)}
}

// NothingRequested: nothing was asked of the provider yet.
type NothingRequested struct{}

// Text implements Detail.
func (NothingRequested) Text() string { return "nothing was requested from the provider yet" }

// CallUnderWay: a call about an instance is under way, or runs inside the plugin.
type CallUnderWay struct {
	// Plugin says that it runs inside the plugin, and the manager waits for no answer.
	Plugin bool `json:"plugin,omitempty"`
}

// Text implements Detail.
func (d CallUnderWay) Text() string {
	if d.Plugin {
		return "a call with its key is still running in the plugin: wait until it is over"
	}
	return "a call to the provider is in progress: wait for its answer"
}

// ResourceIDMissing: an order doesn't name the resource.
type ResourceIDMissing struct{}

// Text implements Detail.
func (ResourceIDMissing) Text() string { return "the id of the resource is missing" }

// ResourceOfInstance: a resource is another instance's.
type ResourceOfInstance struct {
	Resource string `json:"resource"`
	Instance string `json:"instance"`
}

// Text implements Detail.
func (d ResourceOfInstance) Text() string {
	return fmt.Sprintf("%s is the resource of instance %s", d.Resource, d.Instance)
}

// ResourceBelongsTo: a secondary resource is an instance's.
type ResourceBelongsTo struct {
	Resource string `json:"resource"`
	Instance string `json:"instance"`
}

// Text implements Detail.
func (d ResourceBelongsTo) Text() string {
	return fmt.Sprintf("%s belongs to instance %s", d.Resource, d.Instance)
}

// MayBeResourceOf: a resource carries the key of an instance whose resource isn't known.
type MayBeResourceOf struct {
	Resource string `json:"resource"`
	Instance string `json:"instance"`
}

// Text implements Detail.
func (d MayBeResourceOf) Text() string {
	return fmt.Sprintf("%s carries the key of instance %s and may be its resource", d.Resource, d.Instance)
}

// Commands implements commander.
func (d MayBeResourceOf) Commands() []Command {
	return []Command{command("name the right one if it isn't", "instance", "resolve", d.Instance, "--created", "ID")}
}

// ResourcesListed: a provider doesn't list exactly one resource of an id.
type ResourcesListed struct {
	Provider  string `json:"provider"`
	Resource  string `json:"resource"`
	Resources int    `json:"resources"`
}

// Text implements Detail.
func (d ResourcesListed) Text() string {
	if d.Resources == 0 {
		return fmt.Sprintf("provider %s lists no resource %s", d.Provider, text.Quote(d.Resource))
	}
	return fmt.Sprintf("provider %s lists %d resources with the id %s", d.Provider, d.Resources, d.Resource)
}

// ResourceOfOtherKey: a resource carries another key than the instance's.
type ResourceOfOtherKey struct {
	Resource string `json:"resource"`
	Has      string `json:"has"`
	Key      string `json:"key"`
}

// Text implements Detail.
func (d ResourceOfOtherKey) Text() string {
	return fmt.Sprintf("%s carries the key %s and not %s", d.Resource, d.Has, d.Key)
}

// StillListed: a provider lists what a person says is gone or wasn't made.
type StillListed struct {
	Resource string `json:"resource"`
}

// Text implements Detail.
func (d StillListed) Text() string { return "the provider lists " + d.Resource + " for its key" }

// SeenBefore: something of an instance was seen that a person says wasn't made.
type SeenBefore struct {
	Instance string `json:"instance"`
}

// Text implements Detail.
func (SeenBefore) Text() string { return "a resource of it was seen before" }

// Commands implements commander.
func (d SeenBefore) Commands() []Command {
	return []Command{command("say that it is gone", "instance", "resolve", d.Instance, "--gone")}
}

// AgentCalled: the agent called lately of an instance that a person says is gone.
type AgentCalled struct {
	Ago Duration `json:"ago"`
}

// Text implements Detail.
func (d AgentCalled) Text() string { return fmt.Sprintf("its agent called %s ago", d.Ago) }

var orderReasons = []Detail{
	ChangeInUse{},
	DrainStarted{},
	UnusedRemoved{},
	InState{"terminating"},
	RemovedWithJob{},
	ResourceRecorded{"i-1"},
	ClosedByWord{NotCreated: true},
	AdoptedForRemoval{"fleet.linux"},
	InstanceUnknown{"01k9"},
	FleetUnknown{"fleet.linux"},
	OrderUnknown{"paint"},
	NotInspectedInTime{Of(PluginDown{"the plugin exited with status 1"})},
	QuarantinedAlready{"01k9"},
	RequestUnanswered{"provisioning"},
	TakesJobs{"01k9"},
	ForceUnneeded{"01k9", "enrolling"},
	NothingRequested{},
	CallUnderWay{},
	ResourceIDMissing{},
	ResourceOfInstance{"i-1", "01k9"},
	ResourceBelongsTo{"vol-1", "01k9"},
	MayBeResourceOf{"i-1", "01k9"},
	ResourcesListed{"aws.virginia", "i-1", 2},
	ResourceOfOtherKey{"i-1", "01k7", "01k8"},
	StillListed{"i-1"},
	SeenBefore{"01k9"},
	AgentCalled{exampleMinute},
}
