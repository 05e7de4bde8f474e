package isolation

import "context"

// Host is what the agent tells of itself: what no job may reach, and where jobs are.
type Host struct {
	// StateDir and LockFile are the agent's; BootstrapFile is where its token was read
	// from; empty: from no file.
	StateDir, LockFile, BootstrapFile string
	// JobsDir has the folders of jobs that run as another user.
	JobsDir string
	// Path is where a job's commands are found.
	Path string
	// Helper is the command line that reaches AsJob; empty: no job can be isolated.
	Helper []string
}

// Demand is what the manager demands of the user of jobs. Zero: the agent's own user.
type Demand struct {
	User     string // empty: the agent chooses
	Isolated bool
}

// Settlement is what became of a demand.
type Settlement struct {
	Demand   Demand
	User     *User  // nil: the agent's own
	Evidence string // what was shown of an isolated one
	Err      error  // why no job can run as demanded
}

// Settle finds the user that jobs run as. An isolated one is held, and shown to be
// isolated by a process with a job's credentials.
func Settle(ctx context.Context, h Host, demand Demand) Settlement {
	s := Settlement{Demand: demand}
	if !demand.Isolated {
		s.User, s.Err = loginUser(demand.User)
		return s
	}
	if s.User, s.Err = IsolatedUser(h, demand.User); s.Err == nil {
		s.Evidence, s.Err = s.User.Prove(ctx, h)
	}
	if s.Err != nil {
		s.User.Release()
		s.User = nil
	}
	return s
}
