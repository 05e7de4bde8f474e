package fleet

import "strings"

// SchedulerAddress is a scheduler block's place in the file: TYPE.NAME.
type SchedulerAddress string

// Type is the kind of scheduler.
func (a SchedulerAddress) Type() string {
	kind, _, _ := strings.Cut(string(a), ".")
	return kind
}

// AdmitsOnce says that an admission can't be asked for again: it makes a new
// runner each time, and gives its credential that one time.
func (a SchedulerAddress) AdmitsOnce() bool { return a.Type() == SchedulerReviewOS }

// StopsForGood says that a runner that was told to stop never gets a job again.
func (a SchedulerAddress) StopsForGood() bool { return a.Type() == SchedulerReviewOS }

// The kinds of scheduler that a file may name.
const (
	SchedulerForgeyard = "forgeyard"
	SchedulerReviewOS  = "reviewos"
)

// Scheduler is one scheduler block: a CI system that says what capacity its jobs
// need, and is told what was admitted.
type Scheduler struct {
	Address SchedulerAddress `json:"address"`
	URL     string           `json:"url"`
	// Token is for the calls about runners; MetricsToken, where the scheduler
	// has one, only reads demand.
	Token        SecretReference `json:"token"`
	MetricsToken SecretReference `json:"metrics_token,omitzero"`
	// Queues are sorted by name.
	Queues []SchedulerQueue `json:"queues,omitempty"`
}

// SchedulerQueue says what the jobs of a queue need, for a scheduler whose
// demand is a name and a count.
type SchedulerQueue struct {
	Name string `json:"name"`
	// ID is the scheduler's own number of the queue.
	ID   int64  `json:"id"`
	Pool string `json:"pool,omitempty"`
	// Tenant and Project are whose jobs wait in it; "": any.
	Tenant  string `json:"tenant,omitempty"`
	Project string `json:"project,omitempty"`
	// Preemptible says that its jobs may run on hosts that can be taken away.
	Preemptible bool `json:"preemptible,omitempty"`
	// Hostile says that its jobs are untrusted.
	Hostile bool          `json:"hostile,omitempty"`
	Class   CapacityClass `json:"class"`
	// Labels are sorted.
	Labels []string          `json:"labels,omitempty"`
	Tags   map[string]string `json:"tags,omitempty"`
	// Job is what one job takes; zero parts: nothing is said about them.
	Job ResourceCapacity `json:"job,omitzero"`
}

// Scheduling is what a scheduler was told of an instance, and what it
// acknowledged. The zero value: it was told nothing.
type Scheduling struct {
	// Scheduler is who was told. It is set before the first call goes out: from
	// then on the instance may have leases.
	Scheduler SchedulerAddress `json:"scheduler,omitempty"`
	// Ref is the scheduler's name for the runner; empty until it answered.
	Ref SchedulerRunnerRef `json:"ref,omitempty"`
	// Attempts counts the admissions that were sent, at a scheduler that admits
	// once: each had a name of its own.
	Attempts int `json:"attempts,omitempty"`
	// Leaves says that the runner ends by itself when it has been idle, and its host
	// with it.
	Leaves bool `json:"leaves,omitempty"`
	// Hostile says that it was told that the runner may run hostile jobs.
	Hostile bool `json:"hostile,omitempty"`
	// Cordoned says that the scheduler acknowledged to give no new lease.
	Cordoned bool `json:"cordoned,omitempty"`
	// Interrupted says that it acknowledged that the host is taken away, Forced that
	// it took the runner's jobs back.
	Interrupted bool `json:"interrupted,omitempty"`
	Forced      bool `json:"forced,omitempty"`
	// Since is the scheduler's revision at its last acknowledgement. What an older
	// look at it shows says nothing about this runner.
	Since int64 `json:"since,omitempty"`
	// Removed says that the scheduler has forgotten the runner.
	Removed bool `json:"removed,omitempty"`
}

// Told says that a scheduler may still count on the runner.
func (s Scheduling) Told() bool { return s.Scheduler != "" && !s.Removed }
