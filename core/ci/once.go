package ci

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// A scheduler that admits once gives a runner's credential in one answer and
// never again, and no one stores it. An answer that is lost costs one new
// attempt, under a fresh name: the runner of the first is counted by its scheduler
// as one that never came. After that the host is put aside for a person.
const (
	MaxAttempts = 2
	// attemptAgain is how long the second attempt waits: what swallowed the first
	// answer shows in the next observations of the scheduler, and then none is made.
	attemptAgain = 15 * time.Second
)

// wantsAdmission says that a healthy instance's scheduler must be told of it.
func wantsAdmission(address fleet.SchedulerAddress, s *Scheduler, m *Runner, i *fleet.CapacityInstance) bool {
	at := i.Scheduling
	if address.AdmitsOnce() {
		return at.Ref == "" && at.Attempts < MaxAttempts && s != nil && s.Unobservable.IsZero()
	}
	_, listed, known := s.Usage(i)
	return at.Ref == "" || !m.Connected || known && !listed
}

// NoteAdmission notes what an admission is about to be sent with: from then on the
// instance may have leases.
func NoteAdmission(at *fleet.Scheduling, c Call) (changed bool) {
	before := *at
	if at.Scheduler == "" {
		at.Scheduler = c.Scheduler
	}
	if c.Runner.Hostile { // what it may have heard once it may still go by
		at.Hostile = true
	}
	if c.Scheduler.AdmitsOnce() {
		at.Attempts, at.Leaves = c.Runner.Attempt, c.Runner.IdleTimeout > 0
		return true
	}
	return *at != before
}

// admissionFailed takes in that an admission got no answer. One that surely had no
// effect was none.
func (m *Runner) admissionFailed(at *fleet.Scheduling, a Answer, now time.Time) (changed bool) {
	if a.Kind != Admit || !a.Scheduler.AdmitsOnce() {
		return false
	}
	if a.NotDone {
		at.Attempts = max(0, at.Attempts-1)
		return true
	}
	m.NextCall = later(m.NextCall, now.Add(attemptAgain))
	return false
}

// CanConnect says that a runner has, or had, what it needs to connect.
func (m *Runner) CanConnect(at fleet.Scheduling) bool {
	if at.Scheduler.AdmitsOnce() {
		return at.Ref != ""
	}
	return m.Connected
}

// LostCredential says that no one has a runner's credential any more, or that it is of
// no use. A manager that starts again has none: what runs continues with its own, and what
// doesn't run can't begin. started is when this process began.
func (m *Runner) LostCredential(s *Scheduler, x Subject, started, now time.Time) bool {
	useless := m.endsRepeatedly(s, x, now)
	return x.Instance.Scheduling.Ref != "" && (useless || !m.Connected && restsWithout(x, started))
}

// restsWithout says that an agent has told this process that its worker doesn't run,
// and that it isn't about to leave for that.
func restsWithout(x Subject, started time.Time) bool {
	if x.Agent == nil || !x.Agent.LastBeat.After(started) {
		return false
	}
	report := x.Agent.Report
	return report.Phase == fleet.PhaseIdle && report.GroupEmpty && report.Heard == string(lifecycle.Run) &&
		(report.JobsRun == 0 || !x.Instance.Scheduling.Leaves && x.Fleet.Runner.MaxJobs == 0)
}

// A process that was given a credential ends when no one knows it any more, as after
// the scheduler was restored from a backup, and its agent begins it again and again:
// sums don't say whose it is. After so many ends, each so soon after the one before,
// the credential is taken for lost.
const (
	maxEnds     = 5
	endInterval = 10 * time.Minute
)

// endsRepeatedly says that a runner's worker does, while its scheduler answers. One
// that ends by itself as it should takes its agent along, and isn't meant.
func (m *Runner) endsRepeatedly(s *Scheduler, x Subject, now time.Time) bool {
	if x.Agent == nil || x.Instance.Scheduling.Leaves || x.Fleet.Runner.MaxJobs > 0 {
		return false
	}
	more := x.Agent.Report.JobsRun - m.ran
	m.ran = x.Agent.Report.JobsRun
	switch {
	case !m.Connected || s == nil || !s.Unobservable.IsZero():
		m.ends = 0
	case more > 0 && now.Sub(m.endedAt) > endInterval:
		m.ends, m.endedAt = 1, now
	case more > 0:
		m.ends, m.endedAt = m.ends+more, now
	}
	return m.ends >= maxEnds
}

// stopInterval is how long a process may go on after its runner was stopped before that
// is said again. It may have a job; but a scheduler that was restored from a backup may
// have forgotten the stop, and nothing that it says would show that.
const stopInterval = 5 * time.Minute

// stopAgain says that a scheduler must be told once more to stop a runner.
func (m *Runner) stopAgain(at fleet.Scheduling, agent *fleet.Runner, now time.Time) bool {
	return at.Cordoned && at.Scheduler.StopsForGood() && agent != nil && !agent.Report.GroupEmpty &&
		now.Sub(m.stopped) >= stopInterval
}
