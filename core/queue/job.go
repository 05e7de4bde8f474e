package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// State is where a job is.
//
//	waiting → leased → succeeded | failed | cancelled
//	   ↑         │
//	   └─────────┘ its runner or its lease was lost
type State string

// The states of a job.
const (
	Waiting   State = "waiting"
	Leased    State = "leased"
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Over says that nothing happens to the job any more.
func (s State) Over() bool { return s == Succeeded || s == Failed || s == Cancelled }

// Submission is a job as somebody asks for it.
type Submission struct {
	Requirement forgeyard.Requirement `json:"requirement"`
	// Resources is what the job takes of its runner; a slot, always.
	Resources forgeyard.Resources `json:"resources"`
	Command   []string            `json:"command"`
	// Env is given to the job and never shown.
	Env                map[string]string `json:"env,omitempty"`
	Priority           int               `json:"priority,omitempty"`
	PreemptibleAllowed bool              `json:"preemptible_allowed,omitempty"`
	Checkpoint         bool              `json:"checkpoint,omitempty"`
}

// Job is what the queue shows of a job.
type Job struct {
	ID                 string                `json:"id"`
	State              State                 `json:"state"`
	Requirement        forgeyard.Requirement `json:"requirement"`
	Resources          forgeyard.Resources   `json:"resources"`
	Command            []string              `json:"command"`
	Priority           int                   `json:"priority"`
	PreemptibleAllowed bool                  `json:"preemptible_allowed"`
	Checkpoint         bool                  `json:"checkpoint"`
	Submitted          time.Time             `json:"submitted"`
	Started            time.Time             `json:"started,omitzero"`
	Ended              time.Time             `json:"ended,omitzero"`
	// Runner is who has it or had it last.
	Runner string `json:"runner,omitempty"`
	// Attempts counts leases, Losses those that were lost with their runner.
	Attempts int `json:"attempts"`
	Losses   int `json:"losses"`
	// ExitStatus is there once a job ended by itself.
	ExitStatus *int   `json:"exit_status,omitempty"`
	Reason     string `json:"reason,omitempty"`
	// CancelRequested says that its runner was told to end it.
	CancelRequested bool `json:"cancel_requested,omitempty"`
}

// Jobs is the answer to a list of jobs, the oldest first.
type Jobs struct {
	Revision int64 `json:"revision"`
	Jobs     []Job `json:"jobs"`
}

// job is a job and where it is.
type job struct {
	Job
	env      map[string]string
	sequence int64 // orders jobs of the same priority, also after a loss
	group    *group
	lease    *lease // while it is leased
	leases   []leaseKey
	tail     string
}

// Bounds of a submission.
const (
	maxWords     = 1024
	maxTextBytes = 256 << 10
	maxPriority  = 1_000_000
)

// check says what is wrong about a submission, and where. What it lets pass the
// manager can read.
func (s Submission) check() error {
	for _, unknown := range s.Requirement.Unknown {
		return fmt.Errorf(
			"requirement.%.64s: this queue knows no such requirement, and a job is never run where one isn't understood; "+
				"leave it out, or correct its name",
			unknown,
		)
	}
	for _, unknown := range s.Resources.Unknown {
		return fmt.Errorf(
			"resources.%.64s: this queue knows no such resource; name it under \"named\" if runners have it",
			unknown,
		)
	}
	if len(s.Command) == 0 || s.Command[0] == "" {
		return errors.New(`command: a job needs a program and its arguments, as in ["go", "test", "./..."]`)
	}
	if len(s.Command) > maxWords || len(s.Env) > maxWords {
		return fmt.Errorf("command, env: at most %d entries are taken", maxWords)
	}
	size := 0
	for n, word := range s.Command {
		if strings.ContainsRune(word, 0) {
			return fmt.Errorf("command[%d]: an argument can't have a zero byte", n)
		}
		size += len(word)
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf(
				"env[%.40q]: a variable's name isn't empty and has no \"=\", and neither name nor value has a zero byte",
				name,
			)
		}
		if strings.HasPrefix(name, "FORGEYARD_") {
			return fmt.Errorf("env[%.40q]: names that begin with FORGEYARD_ are the runner's own", name)
		}
		size += len(name) + len(value)
	}
	if size > maxTextBytes {
		return fmt.Errorf("command, env: they have %d bytes together, and %d is the most that is taken", size, maxTextBytes)
	}
	if s.Priority < -maxPriority || s.Priority > maxPriority {
		return fmt.Errorf("priority: %d is not from %d to %d", s.Priority, -maxPriority, maxPriority)
	}
	return s.checkDemand()
}

// checkDemand holds a submission against what a snapshot may say.
func (s Submission) checkDemand() error {
	r := s.Requirement
	snapshot := fleet.CapacityDemandSnapshot{Queued: []fleet.QueuedDemand{
		{
			Count:      1,
			Admissible: 1,
			Requirement: fleet.SchedulingRequirementSet{
				OS:           r.OS,
				Arch:         r.Arch,
				Capabilities: r.Capabilities,
				Trust:        r.Trust,
				Tenant:       r.Tenant,
				Project:      r.Project,
				Regions:      r.Regions,
				Toolchain:    r.Toolchain,
				Device:       r.Device,
				Isolation:    r.Isolation,
			},
			Resources: fleet.ResourceCapacity{
				CPUMilli:    s.Resources.CPUMilli,
				MemoryBytes: s.Resources.MemoryBytes,
				DiskBytes:   s.Resources.DiskBytes,
				GPU:         s.Resources.GPU,
				Named:       s.Resources.Named,
			},
		},
	}}
	if err := snapshot.Check(); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "queued[0]: "))
	}
	return nil
}

// normal is the submission with its sets in order, so that jobs that want the
// same are counted together.
func (s Submission) normal() Submission {
	r := &s.Requirement
	for _, words := range []*[]string{&r.Capabilities, &r.Regions, &r.Toolchain} {
		sorted := slices.Sorted(slices.Values(*words))
		*words = slices.Compact(sorted)
	}
	return s
}
