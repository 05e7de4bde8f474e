package fleet

import "time"

// MaxClockSkew is how far a host's clock may be from the manager's.
const MaxClockSkew = 5 * time.Minute

// MaxNotices is how many notices an agent may report at once.
const MaxNotices = 8

// Runner is what an agent has shown and said of itself. Only agentserver writes it;
// it is a record of facts, never a verdict.
type Runner struct {
	ID       RunnerID           `json:"id"`
	Instance CapacityInstanceID `json:"instance"`
	Fleet    RunnerFleetID      `json:"fleet"`
	// Operation is the provision operation whose token was spent.
	Operation OperationID `json:"operation"`
	// KeyHash is the digest of the agent's public key.
	KeyHash string `json:"key_hash"`
	// Serial and NotAfter are of the current certificate.
	Serial   string    `json:"serial"`
	NotAfter time.Time `json:"not_after"`
	Enrolled time.Time `json:"enrolled"`
	// Issuer is the id of the authority's key that signed the certificate, and
	// Authority the id of the one by which the agent knew the manager when it last
	// called; empty: not known.
	Issuer    string `json:"issuer,omitempty"`
	Authority string `json:"authority,omitempty"`
	// Revoked is when somebody took the runner's right to call away; only the
	// store writes it, and no heartbeat does.
	Revoked time.Time `json:"revoked,omitzero"`
	// Identity is the evidence by which it enrolled; zero: the fleet asked for none.
	Identity VerifiedIdentity `json:"identity,omitzero"`
	// Address is where the agent's last call came from: evidence only.
	Address string `json:"address"`
	// Skew is the agent's clock minus the manager's at the last call.
	Skew         time.Duration `json:"skew"`
	AgentVersion string        `json:"agent_version"`
	Platform     Platform      `json:"platform"`
	// Beats counts heartbeats; LastBeat is the time of the last one.
	Beats    int64       `json:"beats"`
	LastBeat time.Time   `json:"last_beat,omitzero"`
	Report   AgentReport `json:"report"`
	// Left is when the agent said that it is leaving by itself, and why.
	Left       time.Time `json:"left,omitzero"`
	LeftReason string    `json:"left_reason,omitempty"`
	// Alert is the last thing about this runner that a person should know, such
	// as a token used again with another key; empty: nothing.
	Alert string `json:"alert,omitempty"`
	// Tampered is set when, before admission, the token was used with another
	// key: the instance is quarantined.
	Tampered bool `json:"tampered,omitempty"`
}

// JobSucceeded is how a job ended that succeeded, as LastExit has it.
const JobSucceeded = "exit status 0"

// AgentReport is the agent's own word in its last heartbeat.
type AgentReport struct {
	// Phase is idle, running or stopped.
	Phase AgentPhase `json:"phase"`
	// GroupEmpty says that no process of a job is left on the host.
	GroupEmpty bool `json:"group_empty"`
	// Heard is what the agent last heard that it should do (wait, run or stop),
	// and Order names the instruction in which it heard it.
	Heard   string `json:"heard,omitempty"`
	Order   string `json:"order,omitempty"`
	JobsRun int    `json:"jobs_run"`
	// LastExit tells how the last job ended; empty before any.
	LastExit string `json:"last_exit,omitempty"`
	// Probes is the result of each capability that the host was asked to show.
	Probes map[string]Probe `json:"probes,omitempty"`
	// Isolation is "user" where a process with a job's credentials was shown to
	// reach neither the agent's files nor the metadata addresses, "none" where it
	// isn't so, and "pending" while the agent looks. IsolationEvidence is what it
	// found, in words.
	Isolation         string  `json:"isolation"`
	IsolationEvidence string  `json:"isolation_evidence,omitempty"`
	Load1             float64 `json:"load1"`
	DiskFree          int64   `json:"disk_free"`
	// Notices are what the host's metadata service announces now, at most
	// MaxNotices.
	Notices []Notice `json:"notices,omitempty"`
	// Unhealthy is the agent's own complaint; empty: none.
	Unhealthy string `json:"unhealthy,omitempty"`
}

// AgentPhase is what the agent is doing.
type AgentPhase string

// The phases. PhaseStopped: told to stop, no job runs and none will.
const (
	PhaseIdle    AgentPhase = "idle"
	PhaseRunning AgentPhase = "running"
	PhaseStopped AgentPhase = "stopped"
)

// Probe is one capability as the host showed it.
type Probe struct {
	OK       bool   `json:"ok"`
	Evidence string `json:"evidence"`
}
