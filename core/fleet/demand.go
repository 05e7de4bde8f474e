package fleet

import (
	"fmt"
	"math"
	"time"
)

// DemandSnapshotID is the digest of what a snapshot says (spec §21).
type DemandSnapshotID string

// SchedulerRunnerRef is the scheduler's own name for a runner. It is never used
// as any other identity.
type SchedulerRunnerRef string

// CapacityDemandSnapshot is what one scheduler says that its jobs need (spec §22).
type CapacityDemandSnapshot struct {
	ID DemandSnapshotID `json:"id"`
	// Revision grows with every change at the scheduler. It orders snapshots,
	// listings and acknowledgements of one scheduler without comparing clocks.
	Revision int64 `json:"revision"`
	// ObservedAt is when the manager began to ask, by the manager's clock.
	ObservedAt time.Time      `json:"observed_at"`
	Queued     []QueuedDemand `json:"queued"`
	// Running is nil where the scheduler doesn't list its runners.
	Running []RunningCapacityUsage `json:"running,omitempty"`
	// Concerns are what a person should know of the scheduler's runners.
	Concerns []DemandConcern `json:"concerns,omitempty"`
}

// ConcernKind names a kind of DemandConcern.
type ConcernKind string

// RunnersLost: more runners than before stopped talking to the scheduler, perhaps
// in the middle of a job. RunnersNeverSeen: credentials are made for machines that
// don't arrive. RunnersUnassigned: runners, or jobs, that are in no queue.
const (
	RunnersLost       ConcernKind = "runners_lost"
	RunnersNeverSeen  ConcernKind = "runners_never_seen"
	RunnersUnassigned ConcernKind = "runners_unassigned"
)

// DemandConcern is something amiss with a scheduler's runners.
type DemandConcern struct {
	Kind ConcernKind `json:"kind"`
	// Class names the capacity class that it is about; "": none, or all.
	Class    string `json:"class,omitempty"`
	Sentence string `json:"sentence"`
}

// Concerns says that a concern is about hosts of a class.
func (c DemandConcern) Concerns(class string) bool { return c.Class == "" || c.Class == class }

// QueuedDemand is a group of waiting jobs with the same hard requirements and the
// same size (spec §23, §27).
type QueuedDemand struct {
	Requirement SchedulingRequirementSet `json:"requirement"`
	// Resources is what one job takes. Slots are counted: a job that names none
	// takes one.
	Resources ResourceCapacity `json:"resources"`
	// Count is how many jobs wait, Admissible how many of them no quota blocks
	// (spec §171): only those ask for capacity.
	Count      int `json:"count"`
	Admissible int `json:"admissible"`
	// OldestWait is how long the oldest of them has waited.
	OldestWait time.Duration `json:"oldest_wait"`
	// Priority orders demand where there is too little capacity: higher first.
	Priority int `json:"priority"`
	// PreemptibleAllowed says that the jobs may run on capacity that the provider
	// can take away (spec §37).
	PreemptibleAllowed bool `json:"preemptible_allowed"`
	// Checkpoint says that the jobs can save their state when told to (spec §42).
	Checkpoint bool `json:"checkpoint"`
	// Unlisted is what a scheduler that doesn't list its runners says of all runners
	// for such jobs together; nil: it lists them.
	Unlisted *UnlistedUsage `json:"unlisted,omitempty"`
}

// UnlistedUsage is a sum over runners. It makes numbers; what a single runner does
// is never concluded from it.
type UnlistedUsage struct {
	// Jobs is how many jobs run.
	Jobs int `json:"jobs"`
	// Usable is how many runners have a job or could take one now.
	Usable int `json:"usable"`
}

// SchedulingRequirementSet is what a job requires of its host (spec §24). Empty parts
// ask for nothing. Nothing here is reinterpreted or relaxed (spec §25, §242).
type SchedulingRequirementSet struct {
	// Queue is where the jobs wait, for a scheduler that says no more of them, and
	// Class the name of the capacity class that the file maps it to; "" with a
	// Queue: it isn't mapped.
	Queue string `json:"queue,omitempty"`
	Class string `json:"class,omitempty"`

	OS           string   `json:"os,omitempty"`
	Arch         string   `json:"arch,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	// Trust must be the class's, exactly.
	Trust        string   `json:"trust,omitempty"`
	Tenant       string   `json:"tenant,omitempty"`
	Project      string   `json:"project,omitempty"`
	Regions      []string `json:"regions,omitempty"`
	Toolchain    []string `json:"toolchain,omitempty"`
	Device       string   `json:"device,omitempty"`
	Isolation    string   `json:"isolation,omitempty"`
	Signing      bool     `json:"signing,omitempty"`
	Confidential bool     `json:"confidential,omitempty"`
	// Hostile says that the jobs are untrusted: they need hosts of the isolation
	// that the installation's policy asks for (spec §216), beside all else.
	Hostile bool `json:"hostile,omitempty"`
	// Unknown names requirements that this version doesn't understand. A set with
	// any is satisfied by no fleet.
	Unknown []string `json:"unknown,omitempty"`
}

// RunningCapacityUsage is what a scheduler says of one of its runners (spec §22).
type RunningCapacityUsage struct {
	Runner SchedulerRunnerRef `json:"runner"`
	// Leases is how many jobs the runner has now.
	Leases int `json:"leases"`
	// Cordoned says that the runner gets no new lease.
	Cordoned bool `json:"cordoned"`
}

// Bounds of a snapshot. What is beyond them is refused whole: a scheduler that
// says such things can't be seen.
const (
	// MaxDemandClasses bounds the groups of waiting jobs in one snapshot.
	MaxDemandClasses = 10_000
	// MaxListedRunners bounds the runners in one snapshot or listing.
	MaxListedRunners = 200_000
	// MaxDemandCount bounds the jobs of one group.
	MaxDemandCount = 10_000_000
	// maxRequirementWords bounds each list, maxRequirementText each text, of a
	// requirement.
	maxRequirementWords = 64
	maxRequirementText  = 256
)

// Check says what is impossible about a snapshot. Nothing may be
// concluded from such a snapshot, neither demand nor its absence.
func (s CapacityDemandSnapshot) Check() error {
	if len(s.Queued) > MaxDemandClasses {
		return fmt.Errorf(
			"it has %d groups of waiting jobs, and %d is the most that is read",
			len(s.Queued),
			MaxDemandClasses,
		)
	}
	if s.Revision < 0 {
		return fmt.Errorf("its revision is %d, and it can't be negative", s.Revision)
	}
	for n, d := range s.Queued {
		if err := d.check(); err != nil {
			return fmt.Errorf("queued[%d]: %w", n, err)
		}
	}
	return CheckUsage(s.Running)
}

// CheckUsage says what is impossible about a list of runners.
func CheckUsage(running []RunningCapacityUsage) error {
	if len(running) > MaxListedRunners {
		return fmt.Errorf("it lists %d runners, and %d is the most that is read", len(running), MaxListedRunners)
	}
	seen := make(map[SchedulerRunnerRef]bool, len(running))
	for n, r := range running {
		switch {
		case r.Runner == "" || len(r.Runner) > maxRequirementText:
			return fmt.Errorf("running[%d]: a runner's name has 1 to %d bytes", n, maxRequirementText)
		case r.Leases < 0:
			return fmt.Errorf("running[%d]: %d leases; there can't be fewer than none", n, r.Leases)
		case seen[r.Runner]:
			return fmt.Errorf("running[%d]: the runner %q is listed twice", n, r.Runner)
		}
		seen[r.Runner] = true
	}
	return nil
}

func (d QueuedDemand) check() error {
	switch {
	case d.Count < 0 || d.Count > MaxDemandCount:
		return fmt.Errorf("count is %d; it must be from 0 to %d", d.Count, MaxDemandCount)
	case d.Admissible < 0 || d.Admissible > d.Count:
		return fmt.Errorf("admissible is %d of %d waiting jobs; it must be from 0 to their count", d.Admissible, d.Count)
	case d.OldestWait < 0:
		return fmt.Errorf("oldest_wait_seconds is %g; it can't be negative", d.OldestWait.Seconds())
	}
	if err := d.Requirement.check(); err != nil {
		return fmt.Errorf("requirement: %w", err)
	}
	if u := d.Unlisted; u != nil && (u.Jobs < 0 || u.Jobs > MaxDemandCount || u.Usable < 0 || u.Usable > MaxDemandCount) {
		return fmt.Errorf("%d jobs run on %d usable runners; both must be from 0 to %d", u.Jobs, u.Usable, MaxDemandCount)
	}
	return d.Resources.checkDemand()
}

// checkDemand says what is impossible about what a job takes.
func (r ResourceCapacity) checkDemand() error {
	for _, one := range []struct {
		name  string
		value int64
	}{{"cpu_milli", r.CPUMilli}, {"memory_bytes", r.MemoryBytes}, {"disk_bytes", r.DiskBytes}, {"slots", r.Slots},
		{"gpu", r.GPU}} {
		if one.value < 0 || one.value > math.MaxInt64/MaxDemandCount {
			return fmt.Errorf(
				"resources.%s is %d; it must be from 0 to %d",
				one.name,
				one.value,
				int64(math.MaxInt64/MaxDemandCount),
			)
		}
	}
	if len(r.Named) > maxRequirementWords {
		return fmt.Errorf(
			"resources.named has %d entries, and %d is the most that is read",
			len(r.Named),
			maxRequirementWords,
		)
	}
	for name, value := range r.Named {
		if name == "" || len(name) > maxRequirementText || value < 0 || value > math.MaxInt64/MaxDemandCount {
			return fmt.Errorf(
				"resources.named[%.40q] is %d; it must be from 0 to %d",
				name,
				value,
				int64(math.MaxInt64/MaxDemandCount),
			)
		}
	}
	return nil
}

func (s SchedulingRequirementSet) check() error {
	for name, text := range map[string]string{"queue": s.Queue, "class": s.Class, "os": s.OS, "arch": s.Arch,
		"trust": s.Trust, "tenant": s.Tenant, "project": s.Project, "device": s.Device, "isolation": s.Isolation} {
		if len(text) > maxRequirementText {
			return fmt.Errorf("%s has %d bytes, and %d is the most that is read", name, len(text), maxRequirementText)
		}
	}
	for name, words := range map[string][]string{"capabilities": s.Capabilities, "regions": s.Regions,
		"toolchain": s.Toolchain, "unknown": s.Unknown} {
		if len(words) > maxRequirementWords {
			return fmt.Errorf("%s has %d entries, and %d is the most that is read", name, len(words), maxRequirementWords)
		}
		for _, word := range words {
			if word == "" || len(word) > maxRequirementText {
				return fmt.Errorf("%s: an entry has 1 to %d bytes", name, maxRequirementText)
			}
		}
	}
	return nil
}
