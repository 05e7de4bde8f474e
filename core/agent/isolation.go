package agent

import (
	"context"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// settlement is what became of the manager's word on the user of jobs.
type settlement struct {
	demand   jobDemand
	user     *jobUser // nil: the agent's own
	evidence string   // what was shown of an isolated one
	err      error    // why no job can run as demanded
}

// settle finds the user that jobs run as. An isolated one is held, and shown to be
// isolated by a process with a job's credentials.
func settle(ctx context.Context, c Config, demand jobDemand) settlement {
	s := settlement{demand: demand}
	if !demand.isolated {
		s.user, s.err = loginUser(demand.user)
		return s
	}
	if s.user, s.err = isolatedUser(c, demand.user); s.err == nil {
		s.evidence, s.err = s.user.prove(ctx, c)
	}
	if s.err != nil {
		s.user.release()
		s.user = nil
	}
	return s
}

// settleJobUser begins to do what the manager says about the user of jobs, while
// no job runs and nothing is left of one. What failed is tried again.
func (r *runner) settleJobUser() {
	demand := demandOf(r.directive)
	if !r.heard || r.settling || r.job != nil || r.somethingLeft() || r.hookDue() {
		return
	}
	if demand == (jobDemand{}) && r.settled == nil {
		return // the agent's own user needs no settling
	}
	if s := r.settled; s != nil && s.demand == demand && (s.err == nil || time.Now().Before(r.settleDue)) {
		return
	}
	if r.settled != nil && r.settled.user != nil {
		r.settled.user.release()
		r.settled = nil
	}
	if demand == (jobDemand{}) {
		r.settled = nil
		return
	}
	r.settling = true
	go func() { r.settlements <- settle(r.beside, r.Config, demand) }()
}

func (r *runner) keepSettlement(s settlement) {
	r.settling = false
	before := r.settled
	r.settled, r.settleDue = &s, time.Now().Add(probeAgain)
	switch {
	case s.err == nil:
		r.tellJobs() // who jobs are says where they find it
		r.Logger.Info("the user of jobs is settled", "user", s.user.String(), "evidence", s.evidence)
	case before == nil || before.err == nil || before.err.Error() != s.err.Error():
		r.Logger.Warn("jobs can't run as the manager demands; it is tried again", "error", s.err)
	}
	r.beatSoonIfChanged()
}

// jobUserSettled says that jobs can run as the manager demands now.
func (r *runner) jobUserSettled() bool {
	s := r.settled
	if s == nil {
		return demandOf(r.directive) == jobDemand{}
	}
	return s != nil && s.demand == demandOf(r.directive) && s.err == nil
}

// isolation is what the beat says: one of agentapi's values, and why.
func (r *runner) isolation() (state, evidence string) {
	s := r.settled
	switch demand := demandOf(r.directive); {
	case r.heard && s == nil && demand == jobDemand{}:
		s = &settlement{}
	case !r.heard || s == nil || s.demand != demand:
		return agentapi.IsolationPending, ""
	}
	switch {
	case s.err != nil:
		return agentapi.IsolationNone, clip("not isolated: " + s.err.Error())
	case s.demand.isolated:
		return agentapi.IsolationUser, clip(s.evidence)
	}
	return agentapi.IsolationNone, "not isolated: the fleet doesn't ask for it, and jobs run as " + s.user.String()
}

// isolationComplaint is why an admitted agent begins no job; empty: nothing
// stands against it.
func (r *runner) isolationComplaint() string {
	if s := r.settled; s != nil && s.err != nil && s.demand == demandOf(r.directive) && r.directive.Want == agentapi.WantRun {
		return clip("no job is begun, since it would not run as the fleet asks: " + s.err.Error())
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
