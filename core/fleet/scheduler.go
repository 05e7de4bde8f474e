package fleet

import "strings"

// SchedulerAddress is a scheduler block's place in the file: TYPE.NAME.
type SchedulerAddress string

// Type is the kind of scheduler.
func (a SchedulerAddress) Type() string {
	kind, _, _ := strings.Cut(string(a), ".")
	return kind
}

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
	ID    int64         `json:"id"`
	Pool  string        `json:"pool,omitempty"`
	Class CapacityClass `json:"class"`
	// Labels are sorted.
	Labels []string          `json:"labels,omitempty"`
	Tags   map[string]string `json:"tags,omitempty"`
	// Job is what one job takes; zero parts: nothing is said about them.
	Job ResourceCapacity `json:"job,omitzero"`
}
