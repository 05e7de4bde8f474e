package fleet

import (
	"encoding/json"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Make is what a fleet's instances are made from, and what a rollout replaces them
// for when it changes (spec §65, §66): the image, the instance block, and what these are
// for. The agent's version is the manager's and no part of it.
type Make struct {
	Image    Image           `json:"image,omitzero"`
	Provider ProviderAddress `json:"provider"`
	Class    CapacityClassID `json:"class"`
	Instance json.RawMessage `json:"instance,omitempty"`
	// Immutable is the part of Instance whose change replaces instances.
	Immutable json.RawMessage `json:"immutable,omitempty"`
}

// Make is what the fleet's next instance would be made from. A
// host isn't joined again for another image.
func (f RunnerFleet) Make() Make {
	m := Make{Image: f.Image, Provider: f.Provider, Class: f.Class.ID(), Instance: f.Instance, Immutable: f.Immutable}
	if f.Joined {
		m.Image = Image{}
	}
	return m
}

// Same says that instances of two makes are interchangeable: names are aliases
// (spec §221), and what of the block may change without them doesn't count.
func (m Make) Same(other Make) bool {
	return m.Image.Same(other.Image) && m.Provider == other.Provider && m.Class == other.Class &&
		DigestBytes(m.Immutable) == DigestBytes(other.Immutable)
}

// Made says that an instance is of this make, with an agent of the version.
func (m Make) Made(i CapacityInstance, agentVersion string) bool {
	sameImage := i.Image == m.Image.ID(agentVersion) || i.Asset != ""
	return sameImage && i.Provider == m.Provider && i.Class == m.Class && i.InstanceDigest == DigestBytes(m.Immutable)
}

// From is the fleet as it is while its instances are made from m.
func (f ManagedFleet) From(m Make) ManagedFleet {
	f.Image, f.Instance, f.Immutable = m.Image, m.Instance, m.Immutable
	return f
}

// Same says that two images are one, whatever they are called.
func (i Image) Same(other Image) bool {
	return i.Digest == other.Digest && i.Ref == other.Ref && i.Bootstrap == other.Bootstrap
}

// Rollout is what must be remembered of a fleet's rollouts. How far one is shows
// in the instances, each of which says what it was made from.
type Rollout struct {
	Fleet RunnerFleetID `json:"fleet"`
	// Target is what the instances should be made from, with an agent of the
	// version Agent, since Began; a zero Began: nothing was noted yet.
	Target Make      `json:"target"`
	Agent  string    `json:"agent"`
	Began  time.Time `json:"began,omitzero"`
	// AgentOnly says that nothing but the agent's version is new: what was before
	// can't be made any more.
	AgentOnly bool `json:"agent_only,omitempty"`
	// Soaking is since when its canaries are healthy; zero: they aren't yet.
	Soaking time.Time `json:"soaking,omitzero"`
	// Passed is when the others were allowed to follow; zero: they aren't yet.
	Passed time.Time `json:"passed,omitzero"`
	// Halted is why it doesn't continue; nil: it isn't halted.
	Halted *RolloutHalt `json:"halted,omitempty"`
	// Resumed is the time of the last resume order that was carried out.
	Resumed time.Time `json:"resumed,omitzero"`
	// Good are earlier makes whose instances were healthy, the newest first.
	Good []Make `json:"good,omitempty"`
}

// RolloutHalt is what went wrong, and when.
type RolloutHalt struct {
	At     time.Time     `json:"at"`
	Reason reason.Reason `json:"reason"`
}

// RolloutAction is what a person asks of a rollout.
type RolloutAction string

// Pause: nothing is replaced. Resume: a halted rollout continues, with a
// canary again. Rollback: another image is booted than the file's (spec §223).
const (
	PauseRollout  RolloutAction = "pause"
	ResumeRollout RolloutAction = "resume"
	RollBack      RolloutAction = "rollback"
)

// RolloutOrder is the last order that a person gave about the rollouts of a fleet.
type RolloutOrder struct {
	Fleet  RunnerFleetID `json:"fleet"`
	Action RolloutAction `json:"action"`
	// From is the file's image that a rollback leaves, and To what is booted in its
	// place: until an apply changes the image, or a person takes it up again.
	From Image `json:"from,omitzero"`
	To   Image `json:"to,omitzero"`
	// SkipSoak lets the others follow at once.
	SkipSoak bool `json:"skip_soak,omitempty"`
	Attribution
}

// Rollout is the last order about a fleet's rollouts. A rollback from an image that
// isn't the file's any more is none.
func (s Overrides) Rollout(f ManagedFleet) (RolloutOrder, bool) {
	for _, o := range s.Rollouts {
		if o.Fleet != f.ID {
			continue
		}
		void := o.Action == RollBack && !f.Image.Same(o.From) && !f.Image.Same(o.To)
		return o, !void
	}
	return RolloutOrder{}, false
}
