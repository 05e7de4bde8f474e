package forgeyard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// The paths of the contract. Those with %s take a runner's name.
const (
	DemandPath   = "/v1/capacity-demand"
	RunnersPath  = "/v1/runners"
	RunnerPath   = "/v1/runners/%s"
	CordonPath   = "/v1/runners/%s/cordon"
	UncordonPath = "/v1/runners/%s/uncordon"
)

// Demand is the answer of DemandPath.
type Demand struct {
	Revision   int64      `json:"revision"`
	ObservedAt time.Time  `json:"observed_at"`
	Queued     QueuedList `json:"queued"`
	Running    []Running  `json:"running"`
}

// QueuedList is a list of groups that is counted before it is read: one beyond
// all bounds costs no more than its bytes.
type QueuedList []Queued

// UnmarshalJSON fails where there are more groups than are read.
func (l *QueuedList) UnmarshalJSON(content []byte) error {
	var groups []json.RawMessage
	if err := json.Unmarshal(content, &groups); err != nil {
		return err
	}
	if len(groups) > fleet.MaxDemandClasses {
		return fmt.Errorf(
			"it has %d groups of waiting jobs, and %d is the most that is read",
			len(groups),
			fleet.MaxDemandClasses,
		)
	}
	if groups == nil {
		return nil
	}
	*l = make(QueuedList, len(groups))
	for n, group := range groups {
		if err := json.Unmarshal(group, &(*l)[n]); err != nil {
			return err // the reader of the whole document finds the place
		}
	}
	return nil
}

// Queued is a group of waiting jobs with the same requirement and size.
type Queued struct {
	Requirement Requirement `json:"requirement"`
	Resources   Resources   `json:"resources"`
	Count       int         `json:"count"`
	// Admissible is Count without what quota blocks; left out, it is Count.
	Admissible         *int    `json:"admissible,omitempty"`
	OldestWaitSeconds  float64 `json:"oldest_wait_seconds"`
	Priority           int     `json:"priority"`
	PreemptibleAllowed bool    `json:"preemptible_allowed"`
	Checkpoint         bool    `json:"checkpoint"`
}

// Requirement is what a job requires of its host; what is left out or empty asks
// for nothing.
type Requirement struct {
	OS           string   `json:"os,omitempty"`
	Arch         string   `json:"arch,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Trust        string   `json:"trust,omitempty"`
	Tenant       string   `json:"tenant,omitempty"`
	Project      string   `json:"project,omitempty"`
	Regions      []string `json:"regions,omitempty"`
	Toolchain    []string `json:"toolchain,omitempty"`
	Device       string   `json:"device,omitempty"`
	Isolation    string   `json:"isolation,omitempty"`
	Signing      bool     `json:"signing,omitempty"`
	Confidential bool     `json:"confidential,omitempty"`
	// Hostile says that the jobs are untrusted: they run only on runners that were
	// admitted for hostile jobs.
	Hostile bool `json:"hostile,omitempty"`
	// Unknown names the members that a reader of this version doesn't know.
	Unknown []string `json:"-"`
}

// Resources is what one job takes.
type Resources struct {
	CPUMilli    int64            `json:"cpu_milli,omitempty"`
	MemoryBytes int64            `json:"memory_bytes,omitempty"`
	DiskBytes   int64            `json:"disk_bytes,omitempty"`
	GPU         int64            `json:"gpu,omitempty"`
	Named       map[string]int64 `json:"named,omitempty"`
	// Unknown names the members that a reader of this version doesn't know.
	Unknown []string `json:"-"`
}

// UnmarshalJSON keeps the names of members that it doesn't know: a requirement
// that isn't understood must not be taken for satisfied.
func (r *Requirement) UnmarshalJSON(content []byte) error {
	type plain Requirement
	unknown, err := decodeKnown(content, (*plain)(r))
	r.Unknown = unknown
	return err
}

// UnmarshalJSON keeps the names of members that it doesn't know.
func (r *Resources) UnmarshalJSON(content []byte) error {
	type plain Resources
	unknown, err := decodeKnown(content, (*plain)(r))
	r.Unknown = unknown
	return err
}

// decodeKnown decodes an object and names the members that the type lacks,
// sorted. A member that is null says nothing.
func decodeKnown(content []byte, into any) (unknown []string, err error) {
	if err := json.Unmarshal(content, into); err != nil {
		return nil, err
	}
	strict := json.NewDecoder(bytes.NewReader(content))
	strict.DisallowUnknownFields()
	if strict.Decode(into) == nil {
		return nil, nil // the usual case costs no map
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(content, &members); err != nil {
		return nil, err
	}
	for name, value := range members {
		one, err := json.Marshal(map[string]json.RawMessage{name: value})
		if err != nil {
			return nil, fmt.Errorf("member %.40q: %w", name, err)
		}
		strict := json.NewDecoder(bytes.NewReader(one))
		strict.DisallowUnknownFields()
		if strict.Decode(into) != nil && string(value) != "null" {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown, nil
}

// Running is one runner and its leases.
type Running struct {
	Runner   string `json:"runner"`
	Leases   int    `json:"leases"`
	Cordoned bool   `json:"cordoned"`
}

// Runners is the answer of RunnersPath.
type Runners struct {
	Revision int64     `json:"revision"`
	Running  []Running `json:"running"`
}

// Admit is the body of a PUT on RunnerPath: a verified runner.
type Admit struct {
	Fleet        string   `json:"fleet"`
	OS           string   `json:"os"`
	Arch         string   `json:"arch"`
	Capabilities []string `json:"capabilities,omitempty"`
	Trust        string   `json:"trust,omitempty"`
	Tenant       string   `json:"tenant,omitempty"`
	Project      string   `json:"project,omitempty"`
	Region       string   `json:"region,omitempty"`
	Toolchain    []string `json:"toolchain,omitempty"`
	Device       string   `json:"device,omitempty"`
	Isolation    string   `json:"isolation,omitempty"`
	Signing      bool     `json:"signing,omitempty"`
	Confidential bool     `json:"confidential,omitempty"`
	// Hostile says that it may run hostile jobs: its isolation is the one that the
	// installation's policy asks for.
	Hostile     bool      `json:"hostile,omitempty"`
	Preemptible bool      `json:"preemptible,omitempty"`
	Resources   Resources `json:"resources"`
	// Slots is how many jobs may run side by side; 0: one.
	Slots   int64 `json:"slots,omitempty"`
	MaxJobs int   `json:"max_jobs,omitempty"`
}

// Admitted is the answer to Admit. Environment is secret.
type Admitted struct {
	Revision    int64             `json:"revision"`
	Environment map[string]string `json:"environment,omitempty"`
	Command     []string          `json:"command,omitempty"`
}

// Cordon is the body of a POST on CordonPath.
type Cordon struct {
	Cause string `json:"cause"`
	// Force takes the runner's jobs away and queues them again.
	Force bool `json:"force,omitempty"`
	// DeadlineSeconds is in how many seconds the host goes away; 0: unknown.
	DeadlineSeconds float64 `json:"deadline_seconds,omitempty"`
}

// Acknowledgement is the answer to a cordon or an uncordon: it holds in every
// listing whose revision is not older.
type Acknowledgement struct {
	Revision int64 `json:"revision"`
}
