package process

// MarkVariable is in the environment of every process of a job, with a value
// that no other job has.
const MarkVariable = "FORGEYARD_JOB"

// Job is how the processes of a running job are recognized besides by their ancestry.
type Job struct {
	// Mark is the value of MarkVariable.
	Mark string
	// UID is of the isolated job's user, whose processes are all the job's; 0: none.
	UID int
	// EndAll ends every process of UID; it is called only where there is one.
	EndAll func() error
}

// JobProcesses finds the processes of a job again after its agent was killed.
type JobProcesses struct {
	// Mark is in the environment of the job's processes.
	Mark string `json:"mark"`
	// PID is the job's first process and its process group; 0: not known.
	PID int `json:"pid,omitempty"`
	// Started and Boot tell that process from a later one with the same PID.
	Started string `json:"started,omitempty"`
	Boot    string `json:"boot,omitempty"`
	// UID is of the isolated job's user; 0: the job isn't isolated.
	UID int `json:"uid,omitempty"`
}

// HoldUser makes this agent the only one that runs jobs as the uid, until release is
// called. Not held without an error: another agent does by now.
type HoldUser func(uid int) (release func(), held bool, err error)
