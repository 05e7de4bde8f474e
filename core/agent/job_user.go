package agent

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// host is what isolation must know of this agent.
func (c Config) host() isolation.Host {
	return isolation.Host{
		StateDir:      c.StateDir,
		LockFile:      c.LockFile,
		BootstrapFile: c.BootstrapFile,
		JobsDir:       c.JobsDir,
		Path:          c.Path,
		Helper:        c.Helper,
	}
}

func demandOf(d agentapi.Directive) isolation.Demand {
	return isolation.Demand{User: d.User, Isolated: d.RequireIsolation}
}

// settleJobUser begins to do what the manager says about the user of jobs, while
// no job runs and nothing is left of one. What failed is tried again.
func (r *runner) settleJobUser() {
	demand := demandOf(r.directive)
	if !r.directiveReceived || r.settling || r.job != nil || r.hasRemains() || r.hookDue() {
		return
	}
	if demand == (isolation.Demand{}) && r.settled == nil {
		return // the agent's own user needs no settling
	}
	if s := r.settled; s != nil && s.Demand == demand && (s.Err == nil || time.Now().Before(r.settleDue)) {
		return
	}
	if r.settled != nil && r.settled.User != nil {
		r.settled.User.Release()
		r.settled = nil
	}
	if demand == (isolation.Demand{}) {
		r.settled = nil
		return
	}
	r.settling = true
	go func() { r.settlements <- isolation.Settle(r.background, r.Config.host(), demand) }()
}

func (r *runner) keepSettlement(s isolation.Settlement) {
	r.settling = false
	before := r.settled
	r.settled, r.settleDue = &s, time.Now().Add(probeRetry)
	switch {
	case s.Err == nil:
		r.updateInterruptionFile() // who jobs are says where they find it
		r.Logger.Info("job user ready", "user", s.User.String(), "evidence", s.Evidence)
	case before == nil || before.Err == nil || before.Err.Error() != s.Err.Error():
		r.Logger.Warn("jobs can't run as the fleet requires; trying again", "error", s.Err)
	}
	r.scheduleHeartbeatIfChanged()
}

// jobUserSettled says that jobs can run as the manager demands now.
func (r *runner) jobUserSettled() bool {
	s := r.settled
	if s == nil {
		return demandOf(r.directive) == isolation.Demand{}
	}
	return s != nil && s.Demand == demandOf(r.directive) && s.Err == nil
}

// isolation is what the beat says: one of agentapi's values, and why.
func (r *runner) isolation() (state, evidence string) {
	s := r.settled
	switch demand := demandOf(r.directive); {
	case r.directiveReceived && s == nil && demand == isolation.Demand{}:
		s = &isolation.Settlement{}
	case !r.directiveReceived || s == nil || s.Demand != demand:
		return agentapi.IsolationPending, ""
	}
	switch {
	case s.Err != nil:
		return agentapi.IsolationNone, clip("not isolated: " + s.Err.Error())
	case s.Demand.Isolated:
		return agentapi.IsolationUser, clip(s.Evidence)
	}
	return agentapi.IsolationNone, "not isolated: the fleet does not require it, and jobs run as " + s.User.String()
}

// isolationProblem is why an admitted agent begins no job; empty: nothing
// stands against it.
func (r *runner) isolationProblem() string {
	if s := r.settled; s != nil && s.Err != nil && s.Demand == demandOf(r.directive) &&
		r.directive.Want == agentapi.WantRun {
		return clip("no job starts, since it would not run as the fleet requires: " + s.Err.Error())
	}
	return ""
}

// clip bounds what may list many files.
func clip(text string) string {
	const most = 900
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
