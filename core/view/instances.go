package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Instance is one capacity instance as people see it. Tokens, nonces and
// certificates are not part of it.
type Instance struct {
	ID               fleet.CapacityInstanceID    `json:"id"`
	Fleet            fleet.FleetAddress          `json:"fleet"`
	Provider         fleet.ProviderAddress       `json:"provider"`
	ProviderInstance fleet.ProviderInstanceRef   `json:"provider_instance,omitempty"`
	Key              fleet.OperationID           `json:"key"`
	State            fleet.CapacityInstanceState `json:"state"`
	Since            time.Time                   `json:"since"`
	Cause            string                      `json:"cause"`
	Reason           reason.Reason               `json:"reason,omitzero"`
	Drain            fleet.DrainStep             `json:"drain,omitempty"`
	Created          time.Time                   `json:"created"`
	Seen             fleet.ResourceState         `json:"seen,omitempty"`
	Zone             string                      `json:"zone,omitempty"`
	MachineType      string                      `json:"machine_type,omitempty"`
	Addresses        []string                    `json:"addresses,omitempty"`
	Detail           string                      `json:"detail,omitempty"`
	Conflict         reason.Reason               `json:"conflict,omitzero"`
	Admission        fleet.Admission             `json:"admission"`
	// Interruption is the gravest thing that its provider announced; nil: nothing.
	Interruption *Interruption `json:"interruption,omitempty"`
	// Scheduling is what its scheduler knows of it; nil: it was told nothing.
	Scheduling *Scheduling `json:"scheduling,omitempty"`
	Runner     *Runner     `json:"runner,omitempty"`
	Operations []Operation `json:"operations,omitempty"`
	// Pin keeps the planner's hands off it.
	Pin *fleet.RunnerPin `json:"pin,omitempty"`
	// Refusals are the calls with its token or certificate that the running
	// manager refused, where a single instance is looked at.
	Refusals []fleet.Refusal `json:"refusals,omitempty"`
}

// Scheduling is what a scheduler was told of a runner, and what it shows of it.
type Scheduling struct {
	Scheduler fleet.SchedulerAddress `json:"scheduler"`
	// Cordoned says that it gives the runner no new job, Removed that it has
	// forgotten it.
	Cordoned bool `json:"cordoned"`
	Removed  bool `json:"removed,omitempty"`
	// Leases is how many jobs it last showed a running manager; nil: it has shown
	// nothing. IdleSince is since when it has shown none.
	Leases    *int      `json:"leases,omitempty"`
	IdleSince time.Time `json:"idle_since,omitzero"`
}

// Uses puts in what a running manager knows of the runner's leases.
func (i *Instance) Uses(usage map[fleet.CapacityInstanceID]snapshot.Usage) {
	if u, known := usage[i.ID]; known && i.Scheduling != nil {
		i.Scheduling.Leases, i.Scheduling.IdleSince = &u.Leases, u.IdleSince
	}
}

// PinnedBy puts in the pin that holds.
func (i *Instance) PinnedBy(s fleet.Overrides, now time.Time) {
	if pin, holds := s.Pin(i.ID, now); holds {
		i.Pin = &pin
	}
}

// Runner is what the instance's agent last showed.
type Runner struct {
	ID           fleet.RunnerID   `json:"id"`
	AgentVersion string           `json:"agent_version"`
	Address      string           `json:"address"`
	Enrolled     time.Time        `json:"enrolled"`
	LastBeat     time.Time        `json:"last_beat,omitzero"`
	Phase        fleet.AgentPhase `json:"phase,omitempty"`
	JobsRun      int              `json:"jobs_run"`
	LastExit     string           `json:"last_exit,omitempty"`
	Isolation    string           `json:"isolation,omitempty"`
	Certificate  time.Time        `json:"certificate_until"`
	Left         time.Time        `json:"left,omitzero"`
	Alert        string           `json:"alert,omitempty"`
	// Identity is the evidence by which it enrolled; left out: its fleet asked for none.
	Identity fleet.VerifiedIdentity `json:"identity,omitzero"`
}

// Operation is one external effect.
type Operation struct {
	ID       fleet.OperationID    `json:"id"`
	Kind     fleet.OperationKind  `json:"kind"`
	State    fleet.OperationState `json:"state"`
	Created  time.Time            `json:"created"`
	Attempts int                  `json:"attempts"`
	Class    fleet.ErrorClass     `json:"class,omitempty"`
	Reason   reason.Reason        `json:"reason,omitzero"`
}

// Instances lists the live instances by fleet and age.
func Instances(s snapshot.Snapshot) []Instance {
	addresses := map[fleet.RunnerFleetID]fleet.FleetAddress{}
	for _, f := range s.Fleets {
		addresses[f.ID] = f.Address
	}
	runners := s.RunnersByInstance()
	operations := map[fleet.CapacityInstanceID][]fleet.Operation{}
	for _, op := range s.Operations {
		operations[op.Instance] = append(operations[op.Instance], op)
	}
	out := make([]Instance, 0, len(s.Instances))
	for _, i := range s.Instances {
		one := One(i, addresses[i.Fleet], runners[i.ID], operations[i.ID])
		one.Uses(s.Usage)
		one.PinnedBy(s.Overrides, s.Now)
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b Instance) int {
		return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// One is the view of a single instance; runner may be nil.
func One(
	i fleet.CapacityInstance,
	address fleet.FleetAddress,
	runner *fleet.Runner,
	operations []fleet.Operation,
) Instance {
	v := Instance{
		ID: i.ID, Fleet: address, Provider: i.Provider, ProviderInstance: i.ProviderInstance, Key: i.Key, State: i.State,
		Since: i.Since, Cause: i.Cause, Reason: i.Reason, Drain: i.Drain, Created: i.Created, Seen: i.Seen, Zone: i.Zone,
		MachineType: i.MachineType, Addresses: i.Addresses, Detail: i.Detail, Conflict: i.Conflict, Admission: i.Admission,
	}
	v.Interruption = interruptionOf(i.Interruption)
	if at := i.Scheduling; at.Scheduler != "" {
		v.Scheduling = &Scheduling{Scheduler: at.Scheduler, Cordoned: at.Cordoned, Removed: at.Removed}
	}
	if r := runner; r != nil {
		v.Runner = &Runner{
			ID: r.ID, AgentVersion: r.AgentVersion, Address: r.Address, Enrolled: r.Enrolled, LastBeat: r.LastBeat,
			Phase: r.Report.Phase, JobsRun: r.Report.JobsRun, LastExit: r.Report.LastExit, Isolation: r.Report.Isolation,
			Certificate: r.NotAfter, Left: r.Left, Alert: r.Alert, Identity: r.Identity,
		}
	}
	for _, op := range operations {
		v.Operations = append(v.Operations, Operation{
			ID:       op.ID,
			Kind:     op.Kind,
			State:    op.State,
			Created:  op.Created,
			Attempts: op.Attempts,
			Class:    op.Class,
			Reason:   op.Reason,
		})
	}
	slices.SortFunc(v.Operations, func(a, b Operation) int { return cmp.Compare(a.ID, b.ID) })
	return v
}
