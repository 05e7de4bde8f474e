package worker

// The paths of a worker's own calls; they take a runner's name and the lease's
// id, which the worker makes up. A call that is sent again with the same id has
// the same effect once.
const (
	LeasePath  = "/v1/runners/%s/leases/%s"        // PUT asks for a job, DELETE gives it back unstarted
	RenewPath  = "/v1/runners/%s/leases/%s/renew"  // POST
	FinishPath = "/v1/runners/%s/leases/%s/finish" // POST
)

// The variables by which a worker is told where its queue is and who it is. The
// token is secret: it is taken out of the environment before any job is started.
const (
	URLVariable     = "FORGEYARD_QUEUE_URL"
	RunnerVariable  = "FORGEYARD_QUEUE_RUNNER"
	TokenVariable   = "FORGEYARD_QUEUE_TOKEN"
	SlotsVariable   = "FORGEYARD_QUEUE_SLOTS"
	MaxJobsVariable = "FORGEYARD_QUEUE_MAX_JOBS"
)

// MaxTailBytes bounds how much of a job's output is kept: its end.
const MaxTailBytes = 64 << 10

// LeaseRequest asks for a job. The answer comes when there is one, or is 204
// after the wait.
type LeaseRequest struct {
	// Session names one run of the worker's process. A new one means that the run
	// before is over: its jobs were lost with it, and are run again.
	Session     string  `json:"session"`
	WaitSeconds float64 `json:"wait_seconds,omitempty"`
}

// Lease is a job to run.
type Lease struct {
	Job     string            `json:"job"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	// Checkpoint says that the job can save its state when it is told to.
	Checkpoint bool `json:"checkpoint,omitempty"`
	// Attempt counts from 1.
	Attempt int `json:"attempt"`
	// ExpireSeconds is how long the lease holds without being renewed.
	ExpireSeconds float64 `json:"expire_seconds"`
}

// RenewRequest says that the job runs, and shows the end of its output. The lease
// is renewed at once; the answer comes when there is an order, or after the wait.
type RenewRequest struct {
	Tail        string  `json:"tail,omitempty"`
	WaitSeconds float64 `json:"wait_seconds,omitempty"`
}

// Orders is what the queue wants of a running job.
type Orders struct {
	// Cancel ends the job.
	Cancel bool `json:"cancel,omitempty"`
	// Interrupted says that the host goes away in DeadlineSeconds: a job that can
	// save its state is told to.
	Interrupted     bool    `json:"interrupted,omitempty"`
	DeadlineSeconds float64 `json:"deadline_seconds,omitempty"`
}

// Result is how a job ended.
type Result struct {
	// ExitStatus is the command's own; -1 where a signal ended it or it did not
	// start.
	ExitStatus int `json:"exit_status"`
	// Reason says in words how it ended.
	Reason string `json:"reason"`
	// Interrupted says that the job didn't end by itself, or ended in failure after
	// it was told to save its state: it is run again elsewhere.
	Interrupted bool   `json:"interrupted,omitempty"`
	Tail        string `json:"tail,omitempty"`
}
