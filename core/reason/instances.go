package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// RequestStored: an instance's request is stored, and goes to the provider now.
type RequestStored struct{}

// Text implements Detail.
func (RequestStored) Text() string { return "request stored and being sent to the provider" }

// ResourceSeen: the provider shows an instance's resource for the first time.
type ResourceSeen struct {
	Resource string `json:"resource"`
}

// Text implements Detail.
func (d ResourceSeen) Text() string { return "the provider shows " + d.Resource }

// AgentEnrolled: an agent called with the instance's enrollment token.
type AgentEnrolled struct {
	// Address is where it called from, Runner the identity that it got.
	Address string `json:"address"`
	Runner  string `json:"runner"`
}

// Text implements Detail.
func (d AgentEnrolled) Text() string {
	return fmt.Sprintf("an agent enrolled from %s as runner %s", d.Address, d.Runner)
}

// AgentReturned: a runner that was given up as lost sends heartbeats again.
type AgentReturned struct{}

// Text implements Detail.
func (AgentReturned) Text() string { return "heartbeats resumed" }

// StoppedWhileSilent: a scheduler was told to stop a runner while that was silent, and can't
// take that back.
type StoppedWhileSilent struct{}

// Text implements Detail.
func (StoppedWhileSilent) Text() string {
	return "its scheduler stopped it while it was silent, and cannot start it again"
}

// AgentLeft: an agent ended by itself.
type AgentLeft struct {
	// Message is what the agent gave as its reason.
	Message string `json:"message"`
	// Leases is what its scheduler knows; zero where it has none.
	Leases Reason `json:"leases,omitzero"`
	// Awaited says that its scheduler may still show a lease on it.
	Awaited bool `json:"awaited,omitempty"`
}

// Text implements Detail.
func (d AgentLeft) Text() string {
	said := "the agent ended by itself: " + text.Clause(d.Message)
	if d.Awaited {
		return said + "; it leaves once its scheduler shows no lease on it"
	}
	return joined(said, d.Leases)
}

// AgentUnhealthy: an agent keeps reporting that its host isn't fit for jobs.
type AgentUnhealthy struct {
	Message string `json:"message"`
}

// Text implements Detail.
func (d AgentUnhealthy) Text() string {
	return "the agent reports that it is unhealthy: " + text.Clause(d.Message)
}

// HeartbeatsMissing: no heartbeat has come from a runner for too long.
type HeartbeatsMissing struct {
	For Duration `json:"for"`
}

// Text implements Detail.
func (d HeartbeatsMissing) Text() string { return "no heartbeat for " + d.For.String() }

// StateDeadline: an instance was in a state for longer than it may be.
type StateDeadline struct {
	State string   `json:"state"`
	Limit Duration `json:"limit"`
	// Waiting are the checks of its admission that had not passed.
	Waiting List[CheckResult] `json:"waiting,omitzero"`
}

// Text implements Detail.
func (d StateDeadline) Text() string {
	said := fmt.Sprintf("%s for longer than %s", d.State, d.Limit)
	if d.Waiting.Len() > 0 {
		said += "; waiting for " + checksText(d.Waiting)
	}
	return said
}

// QuarantineCleared: a person cleared the quarantine of an instance that never had a job.
type QuarantineCleared struct{}

// Text implements Detail.
func (QuarantineCleared) Text() string { return "its quarantine was cleared, and it never ran a job" }

// QuarantinedBy: a person quarantined an instance.
type QuarantinedBy struct {
	By string `json:"by"`
	// Target is fleet or image, where all of that is quarantined.
	Target  string `json:"target,omitempty"`
	Comment string `json:"comment,omitempty"`
	// Unsent says that the instance's request isn't sent again for that.
	Unsent bool `json:"unsent,omitempty"`
}

// Text implements Detail.
func (d QuarantinedBy) Text() string {
	said := "quarantined by " + d.By
	if d.Target != "" {
		said = fmt.Sprintf("its %s was quarantined by %s", d.Target, d.By)
	}
	said += text.Comment(d.Comment)
	if d.Unsent {
		said += "; its request is not sent again"
	}
	return said
}

// CredentialLost: a scheduler gives credentials once, and none of those that it gave for a
// runner is of use.
type CredentialLost struct {
	Scheduler string `json:"scheduler"`
	Attempts  int    `json:"attempts"`
	Instance  string `json:"instance"`
}

// Text implements Detail.
func (d CredentialLost) Text() string {
	return fmt.Sprintf("scheduler.%s was asked for a credential %d times, and none is usable: the answers were lost, or "+
		"a process with one ends again and again", d.Scheduler, d.Attempts)
}

// Commands implements commander.
func (d CredentialLost) Commands() []Command {
	return []Command{command("see what it did", "instance", "show", d.Instance), command("remove it", "drain", d.Instance)}
}

// RequestOutdated: an instance's request is of an older definition, and isn't sent again.
type RequestOutdated struct{}

// Text implements Detail.
func (RequestOutdated) Text() string {
	return "its request is from an older definition and is not sent again"
}

// JoinExpired: no agent came from a claimed host before its token expired.
type JoinExpired struct {
	Asset   string  `json:"asset"`
	Expired Instant `json:"expired"`
}

// Text implements Detail.
func (d JoinExpired) Text() string {
	return fmt.Sprintf("asset %s was not joined before its token expired at %s", d.Asset, text.Moment(d.Expired.Time()))
}

// RequestedBy: a person asked for what happens.
type RequestedBy struct {
	By string `json:"by"`
}

// Text implements Detail.
func (d RequestedBy) Text() string { return "requested by " + d.By }

// JobGivenUp: a person removes an instance although a job may run on it.
type JobGivenUp struct {
	By string `json:"by"`
}

// Text implements Detail.
func (d JobGivenUp) Text() string { return d.By + " gave up the job that may run on it" }

// InterruptionMove: an instance leaves since its provider announced something about it.
type InterruptionMove struct {
	Notice Interruption `json:"notice"`
	// Unused says that it never had a job, Due that the time has come.
	Unused bool `json:"unused,omitempty"`
	Due    bool `json:"due,omitempty"`
}

// Text implements Detail.
func (d InterruptionMove) Text() string {
	said := d.Notice.announcement()
	switch {
	case d.Unused:
		said += "; it never ran a job"
	case d.Due:
		said += "; the time has come, and what runs on it is lost to the infrastructure"
	}
	return said
}

// ResourceStopped: an instance's resource stopped or failed after it had run.
type ResourceStopped struct {
	State string `json:"state"`
}

// Text implements Detail.
func (d ResourceStopped) Text() string {
	return fmt.Sprintf("the provider shows it as %s after it had run", d.State)
}

// ResourceFailed: an instance's resource was made and will never run.
type ResourceFailed struct {
	Class string `json:"error_class,omitempty"`
	// Message is what the provider says about it.
	Message string `json:"message,omitempty"`
}

// Text implements Detail.
func (d ResourceFailed) Text() string {
	if d.Message == "" {
		return "the provider shows that it failed and will never run"
	}
	return "the provider shows that it failed and will never run: " + d.Message
}

// ResourceEnded: a provider shows that an instance's resource has ended.
type ResourceEnded struct {
	Resource string `json:"resource"`
	// Message is what the provider says about the end.
	Message string `json:"message,omitempty"`
}

// Text implements Detail.
func (d ResourceEnded) Text() string {
	said := "the provider shows " + d.Resource + " as ended"
	if d.Message != "" {
		said += ": " + text.Clause(d.Message)
	}
	return said
}

// RemovalConfirmed: the provider answered that an instance's resource is gone.
type RemovalConfirmed struct{}

// Text implements Detail.
func (RemovalConfirmed) Text() string { return "the provider confirmed that it is gone" }

// NothingCreated: there is no resource of an instance.
type NothingCreated struct {
	Because Reason `json:"because,omitzero"`
}

// Text implements Detail.
func (d NothingCreated) Text() string {
	return withCause("nothing was created", d.Because)
}

// NeverCreated: a complete inspection proves that a request whose outcome was unknown made
// nothing.
type NeverCreated struct{}

// Text implements Detail.
func (NeverCreated) Text() string { return "a complete inspection proves that it was never created" }

// NotListed: a complete inspection no longer shows an instance's resource.
type NotListed struct{}

// Text implements Detail.
func (NotListed) Text() string { return "a complete inspection no longer shows it" }

// NotListedAndSilent: an instance's resource isn't listed, and its agent was silent for as
// long, so that it is gone.
type NotListedAndSilent struct {
	For Duration `json:"for"`
}

// Text implements Detail.
func (d NotListedAndSilent) Text() string {
	return fmt.Sprintf("the provider has not listed it, and its agent has been silent, for %s", d.For)
}

// DanglingLeft: an instance is gone, and a secondary resource of it isn't.
type DanglingLeft struct {
	Resource ResourceName `json:"resource"`
}

// Text implements Detail.
func (d DanglingLeft) Text() string {
	return fmt.Sprintf("it is gone, and %s that belongs to it still exists", d.Resource.text())
}

// OrphanListed: an orphan was listed without a live record for so long that it is removed.
type OrphanListed struct {
	Resource ResourceName `json:"resource"`
	For      Duration     `json:"for"`
	Because  Reason       `json:"because"`
}

// Text implements Detail.
func (d OrphanListed) Text() string {
	return fmt.Sprintf("%s has been listed for %s without a live record: %s", d.Resource.text(), d.For, d.Because.Text())
}

// AdoptedBy: a person decided that a resource without a record is removed.
type AdoptedBy struct {
	By string `json:"by"`
}

// Text implements Detail.
func (d AdoptedBy) Text() string { return "adopted by " + d.By + " to be removed; it had no record" }

// FoundByPerson: a person found the resource that a request made.
type FoundByPerson struct {
	Resource string `json:"resource"`
}

// Text implements Detail.
func (d FoundByPerson) Text() string { return "a person found " + d.Resource }

// NotCreatedByWord: a person stated that a request made nothing.
type NotCreatedByWord struct{}

// Text implements Detail.
func (NotCreatedByWord) Text() string { return "a person stated that nothing was created" }

// GoneByWord: a person stated that an instance is gone.
type GoneByWord struct{}

// Text implements Detail.
func (GoneByWord) Text() string { return "a person stated that it is gone" }

// joined is a text with another reason after it, where there is one.
func joined(said string, next Reason) string {
	if next.IsZero() {
		return said
	}
	return said + "; " + next.Text()
}

var (
	exampleChecks = ListOf(CheckResult{"health", Of(NoHeartbeat{})})
	exampleVolume = ResourceName{"vol-1", "volume"}
	exampleNotice = Interruption{Kind: "interruption", Deadline: exampleInstant, Source: "agent"}
)

var instanceReasons = []Detail{
	RequestStored{},
	ResourceSeen{"i-1"},
	AgentEnrolled{"192.0.2.7", "01k9"},
	AgentReturned{},
	StoppedWhileSilent{},
	AgentLeft{Message: "max_jobs = 5 reached", Leases: Of(RunnerUnknown{7})},
	AgentUnhealthy{"the disk is full"},
	HeartbeatsMissing{exampleMinute},
	StateDeadline{"enrolling", exampleMinute, exampleChecks},
	QuarantineCleared{},
	QuarantinedBy{By: "alice", Target: "image", Comment: "miner found"},
	CredentialLost{"reviewos.main", 2, "01k9"},
	RequestOutdated{},
	JoinExpired{"mac-7", exampleInstant},
	RequestedBy{"alice"},
	JobGivenUp{"alice"},
	InterruptionMove{Notice: exampleNotice, Unused: true},
	ResourceStopped{"stopped"},
	ResourceFailed{"capacity", "no host has room for the flavor"},
	ResourceEnded{"i-1", "spot interruption"},
	RemovalConfirmed{},
	NothingCreated{Of(ProviderError{"no such image"})},
	NeverCreated{},
	NotListed{},
	NotListedAndSilent{exampleMinute},
	DanglingLeft{exampleVolume},
	OrphanListed{exampleVolume, exampleMinute, Of(ProvenOrphan{})},
	AdoptedBy{"alice"},
	FoundByPerson{"i-1"},
	NotCreatedByWord{},
	GoneByWord{},
}

// exampleMinute is the duration in examples.
const exampleMinute = Duration(60e9)
