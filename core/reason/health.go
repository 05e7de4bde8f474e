package reason

import (
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// InstanceConflict: nothing is done about an instance, since what is seen of it contradicts
// itself.
type InstanceConflict struct {
	Instance string `json:"instance"`
	Because  Reason `json:"because"`
}

// Text implements Detail.
func (d InstanceConflict) Text() string {
	return fmt.Sprintf("instance %s: %s", d.Instance, d.Because.Text())
}

// RunnersSilent: heartbeats of runners are missing.
type RunnersSilent struct {
	Runners int `json:"runners"`
}

// Text implements Detail.
func (d RunnersSilent) Text() string { return "no heartbeat from " + text.Plural(d.Runners, "runner") }

// LastJobsFailed: on some runners the last job failed.
type LastJobsFailed struct {
	Runners int `json:"runners"`
	Ready   int `json:"ready"`
}

// Text implements Detail.
func (d LastJobsFailed) Text() string {
	return fmt.Sprintf("the last job failed on %d of %s", d.Runners, text.Plural(d.Ready, "runner"))
}

// Commands implements commander.
func (d LastJobsFailed) Commands() []Command {
	return []Command{command("see them", "instance", "list")}
}

// ResourcesUnrecorded: a provider has resources without a live record.
type ResourcesUnrecorded struct {
	Provider string `json:"provider"`
	// Orphans are ours by proof; Foreign ones are not, and are left alone.
	Orphans int `json:"orphans,omitempty"`
	Foreign int `json:"foreign,omitempty"`
}

// Text implements Detail.
func (d ResourcesUnrecorded) Text() string {
	return "provider " + d.Provider + " has " + UnrecordedText(d.Orphans, d.Foreign)
}

// Commands implements commander.
func (d ResourcesUnrecorded) Commands() []Command {
	return []Command{command("see them", "instance", "list", "--unrecorded")}
}

// UnrecordedText counts resources without a live record: "2 orphans and 1 foreign
// resource (left alone)".
func UnrecordedText(orphans, foreign int) string {
	var parts []string
	if orphans > 0 {
		parts = append(parts, text.Plural(orphans, "orphan"))
	}
	if foreign > 0 {
		parts = append(parts, text.Plural(foreign, "foreign resource")+" (left alone)")
	}
	return strings.Join(parts, " and ")
}

// OutcomesUnknown: it isn't known what became of calls to a provider until an inspection
// shows it.
type OutcomesUnknown struct {
	Operations int `json:"operations"`
}

// Text implements Detail.
func (d OutcomesUnknown) Text() string {
	return text.Plural(d.Operations, "unknown outcome") + " until an inspection shows it"
}

// InstancesFailed: instances failed or are quarantined.
type InstancesFailed struct {
	Failed      int `json:"failed,omitempty"`
	Quarantined int `json:"quarantined,omitempty"`
}

// Text implements Detail.
func (d InstancesFailed) Text() string {
	return fmt.Sprintf("%d failed, %d quarantined", d.Failed, d.Quarantined)
}

// InstancesMissing: a fleet has fewer instances than desired, and none is on its way.
type InstancesMissing struct {
	Missing int `json:"missing"`
	Desired int `json:"desired"`
	// ByHand says that a person has to join them.
	ByHand bool `json:"by_hand,omitempty"`
}

// Text implements Detail.
func (d InstancesMissing) Text() string {
	if d.ByHand {
		return fmt.Sprintf("%d of %d desired instances missing: waiting for hosts to be joined", d.Missing, d.Desired)
	}
	return fmt.Sprintf("%d of %d desired instances missing, none on the way", d.Missing, d.Desired)
}

// DemandUnmet: jobs are queued that the fleet could run, and it can't grow now.
type DemandUnmet struct {
	Jobs    int    `json:"jobs"`
	Because Reason `json:"because"`
}

// Text implements Detail.
func (d DemandUnmet) Text() string {
	return fmt.Sprintf("%s without capacity: %s", text.Plural(d.Jobs, "queued job"), d.Because.Text())
}

// SchedulerConcern: a scheduler says that something is amiss with its runners.
type SchedulerConcern struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Text implements Detail.
func (d SchedulerConcern) Text() string { return text.Clause(d.Message) }

// InstanceOverdue: an instance has been draining or terminating for too long.
type InstanceOverdue struct {
	Instance string   `json:"instance"`
	State    string   `json:"state"`
	Limit    Duration `json:"limit"`
	// Because is what became of its removal last; zero: nothing did.
	Because Reason `json:"because,omitzero"`
}

// Text implements Detail.
func (d InstanceOverdue) Text() string {
	said := fmt.Sprintf("instance %s %s for longer than %s", d.Instance, d.State, d.Limit)
	return withCause(said, d.Because)
}

// withCause is a text with the reason for it, where there is one.
func withCause(said string, because Reason) string {
	if because.IsZero() {
		return said
	}
	return said + ": " + because.Text()
}

// Interruption: the provider announced something about an instance.
type Interruption struct {
	// Instance is left out where it is clear which.
	Instance string `json:"instance,omitempty"`
	// Kind is interruption, maintenance or rebalance, and Deadline when it happens.
	Kind     string  `json:"kind"`
	Deadline Instant `json:"deadline,omitempty"`
	Message  string  `json:"message,omitempty"`
	// Source is agent or provider, and Heard when the manager first knew.
	Source    string  `json:"source"`
	Heard     Instant `json:"heard,omitempty"`
	Withdrawn Instant `json:"withdrawn,omitempty"`
}

// announcement is what was announced, without what follows from it.
func (d Interruption) announcement() string {
	said := "the provider may take it away soon"
	switch d.Kind {
	case "interruption":
		said = "the provider takes it away"
	case "maintenance":
		said = "the provider announced maintenance"
	}
	if d.Deadline != 0 {
		said += " at " + text.Moment(d.Deadline.Time())
	}
	said += text.Comment(d.Message) + ", announced by the " + d.Source
	if d.Heard != 0 {
		said += " at " + text.Moment(d.Heard.Time())
	}
	return said
}

// Text implements Detail.
func (d Interruption) Text() string {
	said := d.announcement()
	if d.Instance != "" {
		said = "instance " + d.Instance + ": " + said
	}
	switch {
	case d.Withdrawn != 0:
		return said + " and withdrawn at " + text.Moment(d.Withdrawn.Time()) + ": it leaves after its jobs"
	case d.Kind != "interruption":
		return said + ": it leaves after its jobs"
	}
	return said + ": it gets no more jobs, and those that still run then are run again"
}

var healthReasons = []Detail{
	InstanceConflict{"01k9", Of(KeyShared{2, "01k8"})},
	RunnersSilent{2},
	LastJobsFailed{2, 5},
	ResourcesUnrecorded{"local.here", 2, 1},
	OutcomesUnknown{1},
	InstancesFailed{1, 0},
	InstancesMissing{Missing: 2, Desired: 5},
	DemandUnmet{3, Of(LimitedByMax{Max: 4})},
	SchedulerConcern{"runners_lost", "7 runners were lost in the last hour"},
	InstanceOverdue{"01k9", "terminating", Duration(10 * time.Minute), Of(ProviderError{"the volume is attached"})},
	Interruption{Instance: "01k9", Kind: "interruption", Deadline: exampleInstant, Source: "agent",
		Heard: exampleInstant},
}
