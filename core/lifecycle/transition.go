package lifecycle

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Cause is why an instance changes its state. The text is stored and shown.
type Cause string

// The causes. Each edge of the table names the ones that may take it.
const (
	Decided          Cause = "decided"            // the planner wants it; nothing was sent
	Cancelled        Cause = "cancelled"          // no longer wanted, and nothing was sent
	IntentCommitted  Cause = "intent_committed"   // the request is stored and goes out
	ResourceSeen     Cause = "resource_seen"      // an inspection or the answer shows the resource
	NothingCreated   Cause = "nothing_created"    // the provider is certain that nothing exists
	DeadlinePassed   Cause = "deadline_passed"    // the state's timeout is over
	AgentContact     Cause = "agent_contact"      // an agent enrolled with the instance's token
	AdmissionGranted Cause = "admission_verified" // every admission check passed
	AdmissionRefused Cause = "admission_rejected" // a check says that this host never will pass
	EvidenceFailed   Cause = "evidence_failed"    // something contradicts what the host claims
	ForScaleDown     Cause = "scale_down"         // more than the fleet needs
	ForRollout       Cause = "rollout"            // made from an older definition or image
	ForAge           Cause = "max_age"            // older than the fleet lets a runner get
	ForOperator      Cause = "operator"           // the fleet is removed, or a person asked
	ForInterruption  Cause = "interruption"       // its provider says that it takes it away
	ForMaintenance   Cause = "maintenance"        // its provider announced work on its host
	ForRebalance     Cause = "rebalance"          // its provider says that it may be taken away soon
	Preempted        Cause = "preempted"          // the time has come that its provider named
	DemandBack       Cause = "demand_back"        // wanted again before its agent was told to stop
	RunnerLost       Cause = "runner_lost"        // silent beyond lost_grace
	RunnerBack       Cause = "runner_back"        // heartbeats again
	RunnerUnfit      Cause = "runner_unfit"       // its agent complains: a clean-up failed
	IdleProven       Cause = "idle_proven"        // no job is on the host and none can come
	Withdrawn        Cause = "withdrawn"          // no longer wanted, and never admitted to work
	RunnerLeft       Cause = "runner_left"        // the agent said that it ended by itself
	ResourceStopped  Cause = "resource_stopped"   // powered off after signs of life, or failed
	CleanUp          Cause = "clean_up"           // a failed instance is removed
	ProvenGone       Cause = "proven_gone"        // the provider answered, or a complete list shows, that it is gone
	LeftBehind       Cause = "left_behind"        // it is gone, and something that belongs to it isn't
	Forced           Cause = "forced"             // an operator ended a drain that doesn't end
	Adopted          Cause = "adopted"            // an operator took a foreign resource in to have it removed
	OrphanFound      Cause = "orphan_found"       // proven ours, and listed after it had ended
	CredentialLost   Cause = "credential_lost"    // its scheduler gave it no credential that is of use
	StoppedForGood   Cause = "stopped_for_good"   // its scheduler stopped it, and can't take that back
	ForQuarantine    Cause = "quarantine"         // a person quarantined it, its fleet or its image
)

// Edge is one allowed move.
type Edge struct {
	From, To fleet.CapacityInstanceState
	Cause    Cause
	// When says in words what must be true.
	When string
}

// edges is the provisioned host lifecycle (spec §51).
//
//	Requested → Provisioning → Bootstrapping → Enrolling → Healthy → Draining → Terminating → Terminated
//	                 └──────────────┴──► Failed ─────┴─► Quarantined ──────────────┘
//
// An admitted host goes through Draining before Terminating (spec §33, §34). A host
// that was never admitted has never been given work, so Withdrawn takes it out
// without a drain. What comes back after its end is only ever removed again.
var edges = []Edge{
	{fleet.Requested, fleet.Terminated, Cancelled, "no request was handed to the provider"},
	{fleet.Requested, fleet.Provisioning, IntentCommitted, "the operation and its whole request are stored"},

	{fleet.Provisioning, fleet.Bootstrapping, ResourceSeen, "the resource exists"},
	{fleet.Provisioning, fleet.Failed, NothingCreated, "the provider says that nothing was made"},
	{
		fleet.Provisioning,
		fleet.Failed,
		DeadlinePassed,
		"timeouts.provision is over, or no person joined the instance within 24 hours",
	},
	{
		fleet.Provisioning,
		fleet.Failed,
		Withdrawn,
		"its request waits to go out again, and the file asks for something else now",
	},

	{fleet.Bootstrapping, fleet.Enrolling, AgentContact, "an agent enrolled with the instance's token"},
	{
		fleet.Bootstrapping,
		fleet.Failed,
		DeadlinePassed,
		"timeouts.boot is over, or no person joined the instance within 24 hours",
	},
	{fleet.Bootstrapping, fleet.Terminating, Withdrawn, "it isn't wanted any more and was never given work"},

	{fleet.Enrolling, fleet.Healthy, AdmissionGranted, "every check of admission passed"},
	{fleet.Enrolling, fleet.Quarantined, EvidenceFailed, "evidence contradicts the host's claims"},
	{fleet.Enrolling, fleet.Failed, AdmissionRefused, "a check refused the host for good"},
	{fleet.Enrolling, fleet.Failed, DeadlinePassed, "timeouts.enroll is over"},
	{fleet.Enrolling, fleet.Terminating, Withdrawn, "it isn't wanted any more and was never given work"},

	{fleet.Healthy, fleet.Draining, ForScaleDown, "there are more runners than needed"},
	{fleet.Healthy, fleet.Draining, ForRollout, "it was made from an older definition or image"},
	{fleet.Healthy, fleet.Draining, ForAge, "it is older than max_age, and its scheduler's worker doesn't end by itself"},
	{fleet.Healthy, fleet.Draining, ForOperator, "its fleet is removed or smaller by the file"},
	{fleet.Healthy, fleet.Draining, RunnerLeft, "the agent ended by itself, and its scheduler may show a lease"},
	{fleet.Healthy, fleet.Draining, ForInterruption, "its provider takes it away"},
	{fleet.Healthy, fleet.Draining, ForMaintenance, "its provider announced work on its host"},
	{fleet.Healthy, fleet.Draining, ForRebalance, "its provider says that it may be taken away soon"},
	{fleet.Healthy, fleet.Quarantined, RunnerLost, "no heartbeat for timeouts.lost_grace"},
	{
		fleet.Healthy,
		fleet.Draining,
		StoppedForGood,
		"it was silent and told to stop meanwhile, and its scheduler can't take that back",
	},
	{fleet.Healthy, fleet.Quarantined, CredentialLost, "the second credential was lost, or is of no use, too"},
	{fleet.Healthy, fleet.Quarantined, RunnerUnfit, "its agent has complained for timeouts.heartbeat"},

	{fleet.Enrolling, fleet.Quarantined, ForQuarantine, "a person quarantined it, its fleet or its image"},
	{fleet.Healthy, fleet.Quarantined, ForQuarantine, "a person quarantined it, its fleet or its image"},
	{
		fleet.Draining,
		fleet.Quarantined,
		ForQuarantine,
		"a person quarantined it, its fleet or its image, and its drain could be taken back",
	},

	{
		fleet.Draining,
		fleet.Healthy,
		DemandBack,
		"it drained for a scale-down, its agent hasn't been told to stop, and the scheduler gives it leases again",
	},
	{fleet.Draining, fleet.Terminating, IdleProven, "no job is left and none can start"},
	{fleet.Draining, fleet.Draining, ForInterruption, "it drained for something else, and its provider takes it away"},
	{
		fleet.Draining,
		fleet.Draining,
		ForOperator,
		"it drained for a scale-down, which may be taken back, and a person wants it away",
	},
	{fleet.Draining, fleet.Terminating, Preempted, "the time has come at which its provider takes it away"},
	{fleet.Quarantined, fleet.Terminating, Preempted, "the time has come at which its provider takes it away"},
	{fleet.Quarantined, fleet.Healthy, RunnerBack, "it was lost and beats again"},
	{fleet.Quarantined, fleet.Terminating, IdleProven, "no job is left and none can start"},
	{
		fleet.Quarantined,
		fleet.Terminating,
		DeadlinePassed,
		"timeouts.quarantine is over, or a person took the quarantine back, and it was never given work",
	},
	{fleet.Draining, fleet.Terminating, Forced, "an operator gave its job up by drain --force"},
	{fleet.Quarantined, fleet.Terminating, Forced, "an operator gave its job up by drain --force"},

	{fleet.Failed, fleet.Terminating, CleanUp, "something may exist"},
	{fleet.Failed, fleet.Terminated, NothingCreated, "nothing was made"},

	{fleet.Bootstrapping, fleet.Terminating, ResourceStopped, "it ran and is powered off now, or it failed"},
	{fleet.Enrolling, fleet.Terminating, ResourceStopped, "it ran and is powered off now, or it failed"},
	{fleet.Healthy, fleet.Terminating, ResourceStopped, "it ran and is powered off now, or it failed"},
	{fleet.Draining, fleet.Terminating, ResourceStopped, "it ran and is powered off now, or it failed"},
	{fleet.Quarantined, fleet.Terminating, ResourceStopped, "it ran and is powered off now, or it failed"},
	{fleet.Enrolling, fleet.Terminating, RunnerLeft, "the agent ended by itself"},
	{fleet.Healthy, fleet.Terminating, RunnerLeft, "the agent ended by itself, and no scheduler counts on it"},
	{fleet.Draining, fleet.Terminating, RunnerLeft, "the agent ended by itself"},
	{fleet.Quarantined, fleet.Terminating, RunnerLeft, "the agent ended by itself"},

	{fleet.Bootstrapping, fleet.Terminating, LeftBehind, "it is gone, and a resource that belongs to it is listed"},
	{fleet.Enrolling, fleet.Terminating, LeftBehind, "it is gone, and a resource that belongs to it is listed"},
	{fleet.Healthy, fleet.Terminating, LeftBehind, "it is gone, and a resource that belongs to it is listed"},
	{fleet.Draining, fleet.Terminating, LeftBehind, "it is gone, and a resource that belongs to it is listed"},
	{fleet.Quarantined, fleet.Terminating, LeftBehind, "it is gone, and a resource that belongs to it is listed"},

	{fleet.Provisioning, fleet.Terminated, ProvenGone, "a complete inspection after the settle time doesn't show it"},
	{fleet.Bootstrapping, fleet.Terminated, ProvenGone, "a complete inspection after the settle time doesn't show it"},
	{fleet.Enrolling, fleet.Terminated, ProvenGone, "a complete inspection after the settle time doesn't show it"},
	{fleet.Healthy, fleet.Terminated, ProvenGone, "a complete inspection after the settle time doesn't show it"},
	{fleet.Draining, fleet.Terminated, ProvenGone, "a complete inspection after the settle time doesn't show it"},
	{fleet.Quarantined, fleet.Terminated, ProvenGone, "a complete inspection after the settle time doesn't show it"},
	{fleet.Failed, fleet.Terminated, ProvenGone, "a complete inspection after the settle time doesn't show it"},
	{fleet.Terminating, fleet.Terminated, ProvenGone, "the provider answered gone, or an inspection shows it"},

	{
		fleet.Terminated,
		fleet.Terminating,
		OrphanFound,
		"two complete inspections list it, the grace apart, and it is proven ours",
	},
}

// Edges returns the whole table, for documentation and tests.
func Edges() []Edge { return append([]Edge(nil), edges...) }

// NotAllowedError says that the table has no such move: a bug in the caller,
// which leaves the instance as it is.
type NotAllowedError struct {
	Instance fleet.CapacityInstanceID
	From, To fleet.CapacityInstanceState
	Cause    Cause
}

func (e *NotAllowedError) Error() string {
	return fmt.Sprintf(
		"instance %s: the lifecycle has no move from %s to %s because of %s",
		e.Instance,
		e.From,
		e.To,
		e.Cause,
	)
}

// Allowed says whether the table has the move.
func Allowed(from, to fleet.CapacityInstanceState, cause Cause) bool {
	for _, e := range edges {
		if e.From == from && e.To == to && e.Cause == cause {
			return true
		}
	}
	return false
}

// emergencies are the causes for which a machine that has leases may end (spec §35): its
// provider takes it away or has ended it, or a person gave its jobs up. Whatever
// else is wrong with a host, its jobs are waited for.
var emergencies = map[Cause]bool{Preempted: true, ResourceStopped: true, Forced: true}

// Emergency says that jobs are taken away from a runner that ends for the cause,
// and are run again elsewhere.
func Emergency(c Cause) bool { return emergencies[c] }

// CauseOf is why an instance drains that its provider gave such a notice about.
func CauseOf(k fleet.NoticeKind) Cause {
	switch k {
	case fleet.NoticeInterruption:
		return ForInterruption
	case fleet.NoticeMaintenance:
		return ForMaintenance
	}
	return ForRebalance
}

// Move changes the instance's state at now and records why. Entering Draining
// begins with the cordon; a drain that continues for another cause keeps its
// progress.
func Move(
	i *fleet.CapacityInstance,
	to fleet.CapacityInstanceState,
	cause Cause,
	now time.Time,
	why reason.Reason,
) error {
	if !Allowed(i.State, to, cause) {
		return &NotAllowedError{Instance: i.ID, From: i.State, To: to, Cause: cause}
	}
	drain := fleet.NotDraining
	if to == fleet.Draining {
		drain = fleet.Cordoned
		if i.State == fleet.Draining {
			drain = i.Drain
		}
	}
	i.State, i.Since, i.Cause, i.Reason = to, now, string(cause), why
	i.Drain = drain
	if to == fleet.Terminating {
		i.Ended = string(cause)
	}
	return nil
}
