package agentapi

import "time"

// The paths of the agent's endpoints.
const (
	EnrollPath    = "/v1/enroll"
	HeartbeatPath = "/v1/runners/heartbeat"
	RenewPath     = "/v1/runners/renew"
	LeavePath     = "/v1/runners/leave"
	DownloadPath  = "/v1/runner/download"
)

// MaxBodyBytes bounds every request and every JSON answer.
const MaxBodyBytes = 256 << 10

// EnrollRequest spends a token. The same token with the same key gives the same
// certificate again until the token expires.
type EnrollRequest struct {
	Token string `json:"token"`
	// CSR is a PEM certificate request for a key made on the host.
	CSR          string    `json:"csr"`
	Clock        time.Time `json:"clock"`
	AgentVersion string    `json:"agent_version"`
	OS           string    `json:"os"`
	Arch         string    `json:"arch"`
	// Evidence is what the host's platform signed about it; nil: there is none.
	Evidence *Evidence `json:"evidence,omitempty"`
}

// Evidence says which instance of its provider a host is. In JSON the document and
// the signature are base64, of at most MaxEvidenceBytes each.
type Evidence struct {
	// Kind is the platform: "aws".
	Kind      string `json:"kind"`
	Document  []byte `json:"document"`
	Signature []byte `json:"signature,omitempty"`
}

// MaxEvidenceBytes bounds a document and a signature, each.
const MaxEvidenceBytes = 16 << 10

// EnrollResponse makes the agent a runner. It isn't trusted with work yet.
type EnrollResponse struct {
	RunnerID string `json:"runner_id"`
	Certificate
	// ProbeCapabilities names what the host must show in its first heartbeat.
	ProbeCapabilities []string `json:"probe_capabilities"`
}

// Certificate is a client certificate with its chain.
type Certificate struct {
	PEM string `json:"certificate"`
	// RenewAfterSeconds is told as a duration since the host's clock may be wrong.
	RenewAfterSeconds int64 `json:"renew_after_seconds"`
	// MaxOfflineSeconds is how long after expiry the same key may still renew.
	MaxOfflineSeconds int64 `json:"max_offline_seconds"`
}

// Heartbeat is the agent's state. Only the current truth counts: a lost beat
// loses nothing.
type Heartbeat struct {
	Clock        time.Time `json:"clock"`
	AgentVersion string    `json:"agent_version"`
	Phase        string    `json:"phase"` // idle, running, stopped
	GroupEmpty   bool      `json:"group_empty"`
	// Heard is the Want of the last directive that the agent acts on, Order its
	// Order: what the beat reports was looked at after they had come into effect.
	Order    string           `json:"order"`
	Heard    string           `json:"heard"`
	JobsRun  int              `json:"jobs_run"`
	LastExit string           `json:"last_exit,omitempty"`
	Probes   map[string]Probe `json:"probes,omitempty"`
	// Isolation is one of the Isolation constants, and IsolationEvidence what was
	// found, in words.
	Isolation         string  `json:"isolation"`
	IsolationEvidence string  `json:"isolation_evidence,omitempty"`
	Load1             float64 `json:"load1"`
	DiskFree          int64   `json:"disk_free_bytes"`
	Unhealthy         string  `json:"unhealthy,omitempty"`
	// Notices are what the host's platform announces about it now; one that isn't
	// there any more was withdrawn.
	Notices []Notice `json:"notices,omitempty"`
}

// Notice is one announcement of the platform that a host runs on.
type Notice struct {
	// ID tells it from the others about this host.
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// DeadlineSeconds is in how much time it happens, as a duration since the host's
	// clock may be wrong; nil: not announced.
	DeadlineSeconds *float64 `json:"deadline_seconds,omitempty"`
	Detail          string   `json:"detail,omitempty"`
}

// MaxNotices is how many notices a heartbeat has at most.
const MaxNotices = 8

// Values of Notice.Kind.
const (
	// NoticeInterruption: the platform takes the host away.
	NoticeInterruption = "interruption"
	// NoticeMaintenance: it stops, restarts or moves it for its own work.
	NoticeMaintenance = "maintenance"
	// NoticeRebalance: it may be taken away sooner than others.
	NoticeRebalance = "rebalance"
)

// Values of Heartbeat.Isolation.
const (
	// IsolationPending: the agent hasn't heard what is asked for, or still looks.
	IsolationPending = "pending"
	// IsolationUser: a process with a job's credentials was shown to reach neither
	// the agent's files nor the metadata addresses.
	IsolationUser = "user"
	// IsolationNone: jobs aren't isolated; the evidence says why.
	IsolationNone = "none"
)

// Probe is one capability as the host showed it.
type Probe struct {
	OK       bool   `json:"ok"`
	Evidence string `json:"evidence"`
}

// HeartbeatResponse is what the manager wants of the runner now.
type HeartbeatResponse struct {
	Directive Directive `json:"directive"`
	// NextMillis is when the next beat is due. The agent beats earlier when its
	// phase changes.
	NextMillis        int64    `json:"next_millis"`
	ProbeCapabilities []string `json:"probe_capabilities,omitempty"`
	// Trust is sent to an agent that pins an older authority than the manager's
	// present one: it should pin this one instead, once a call under it succeeded.
	Trust *Trust `json:"trust,omitempty"`
}

// Trust is how to know the manager: the digest of its authority's certificate, and
// the name that its own certificate is for.
type Trust struct {
	CAFingerprint string `json:"ca_fingerprint"`
	ServerName    string `json:"server_name"`
}

// Directive is the wanted state; it is repeated in every answer.
type Directive struct {
	// Want is wait (begin no job, and let one that runs go on), run, or stop
	// (finish the job that runs, begin no other, report the phase stopped, go on
	// beating).
	Want string `json:"want"`
	// Order names this very instruction; the agent echoes it, so that a report
	// from before a stop can't be taken for one from after it.
	Order string `json:"order"`
	// RequireIsolation makes the agent run jobs isolated or not at all. It and User
	// come with every directive, since the agent must show before it is admitted
	// that it can.
	RequireIsolation bool `json:"require_isolation,omitempty"`
	// User is the OS user that jobs run as; empty: the agent chooses.
	User    string   `json:"user,omitempty"`
	Command []string `json:"command,omitempty"`
	// Worker says that the command is a scheduler's worker, which takes jobs for
	// as long as it runs. On a stop it is asked to end, by SIGTERM, and ends after
	// the job that it has.
	Worker bool `json:"worker,omitempty"`
	// StoppedByScheduler says that the scheduler itself stops the worker: the agent asks
	// nothing of it and waits, however long that takes.
	StoppedByScheduler bool              `json:"stopped_by_scheduler,omitempty"`
	Env                map[string]string `json:"env,omitempty"`
	// Cleanup is run after each job, as the agent's own user; empty: nothing.
	Cleanup []string `json:"cleanup,omitempty"`
	MaxJobs int      `json:"max_jobs,omitempty"`
	// MaxAgeSeconds counts from the agent's enrollment, whatever was restarted
	// since; 0: no limit.
	MaxAgeSeconds int64 `json:"max_age_seconds,omitempty"`
	// Interruption says that the manager knows that the host is taken away, whatever
	// told it; nil: it knows of nothing. No job is begun from then on.
	Interruption *Interruption `json:"interruption,omitempty"`
}

// Interruption is the announced end of a host.
type Interruption struct {
	// DeadlineSeconds is in how much time; nil: not announced.
	DeadlineSeconds *float64 `json:"deadline_seconds,omitempty"`
	Detail          string   `json:"detail,omitempty"`
}

// Values of Directive.Want.
const (
	WantWait = "wait"
	WantRun  = "run"
	WantStop = "stop"
)

// RenewRequest asks for a new certificate for the same key.
type RenewRequest struct {
	CSR   string    `json:"csr"`
	Clock time.Time `json:"clock"`
}

// LeaveRequest is the agent's last word: it has no job and ends by itself.
type LeaveRequest struct {
	Reason string `json:"reason"` // max_jobs, max_age, signal
}

// Problem is an error answer (RFC 9457).
type Problem struct {
	Type   string `json:"type,omitempty"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Code is stable: what the agent decides on.
	Code string `json:"code"`
}
