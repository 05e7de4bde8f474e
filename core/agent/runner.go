package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agent/metadata"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// The phases that an agent reports.
const (
	phaseIdle    = "idle"
	phaseRunning = "running"
	phaseStopped = "stopped"
)

const (
	// quickFailure is how soon a command must fail to be held back.
	quickFailure = 10 * time.Second
	// minJobInterval is the least time between two runs of the command.
	minJobInterval = 100 * time.Millisecond
	// minHeartbeatInterval is the least time between two beats because of a change that
	// wakes no caller: a command of milliseconds must not make a storm.
	minHeartbeatInterval = time.Second
	// probeRetry is how often a capability that wasn't shown is looked for again.
	probeRetry = 10 * time.Second
)

// runner is an enrolled agent. One goroutine, run, owns all of it; calls, probes
// and jobs run beside it and come back as messages.
//
// It is level-triggered: run looks at what is wanted and what is, does what is
// due, and waits for the next message or moment.
type runner struct {
	Config
	client   *client
	identity *identity
	history  *history
	started  time.Time // max_age counts from here: the enrollment
	// remove removes a job's folder.
	remove func(folder string) error

	// background ends everything that runs beside run.
	background context.Context
	cancel     context.CancelFunc

	directive agentapi.Directive // what is wanted; begins as "wait"
	interval  time.Duration      // between beats

	// One call is made at a time.
	calling                    bool
	answers                    chan func()
	heartbeatDue               time.Time
	lastHeartbeat              time.Time
	lastPhase                  string // in the last beat that was sent
	lastEmpty                  bool
	lastHeard                  string
	lastOrder                  string
	lastIsolation, lastProblem string
	lastNotices                []metadata.Notice // as the last beat said them
	failedHeartbeats           int               // in a row
	renewDue                   time.Time
	failedRenewals             int

	trustNotBefore time.Time // when a trust that failed may be tried again

	probeNames   []string
	probing      bool
	probed       chan map[string]agentapi.Probe
	probeResults map[string]agentapi.Probe
	probeDue     time.Time

	job          *job
	jobOver      chan jobResult
	jobNotBefore time.Time
	jobFailed    int // at once, in a row

	// directiveReceived: the manager has answered a heartbeat. settled is who jobs run as.
	directiveReceived bool
	settling          bool
	settlements       chan isolation.Settlement
	settled           *isolation.Settlement
	settleDue         time.Time

	// notices are what the platform announces, managerNotices what the manager does.
	notices, managerNotices []metadata.Notice
	metadata                *metadata.Client
	readingNotices          bool
	noticesRead             chan noticesRead
	noticesDue              time.Time
	noticesFailed           int // in a row

	hookRunning bool
	hookOver    chan error

	problem  string    // what a job left and can't be removed
	cleanDue time.Time // when what is left is looked at again

	// refused is set while the manager doesn't want this agent: no job is begun,
	// and the agent ends once none runs.
	refused *RefusedError
	fatal   error // why the agent must end now
}

func newRunner(c Config, k *client, i *identity, h *history, renewAfter time.Duration) *runner {
	now := time.Now()
	r := &runner{
		Config:    c,
		client:    k,
		identity:  i,
		history:   h,
		started:   now.Add(-i.age(c.Now())),
		remove:    isolation.RemoveFolder,
		directive: agentapi.Directive{Want: agentapi.WantWait},
		interval:  10 * time.Second,
		answers:   make(chan func(), 1),
		probed:    make(chan map[string]agentapi.Probe, 1),
		jobOver:   make(chan jobResult, 1),
		settlements: make(
			chan isolation.Settlement,
			1,
		),
		hookOver:     make(chan error, 1),
		noticesRead:  make(chan noticesRead, 1),
		heartbeatDue: now,
		renewDue:     now.Add(renewAfter),
		probeNames:   i.record.ProbeCapabilities,
		probeDue:     now,
	}
	r.background, r.cancel = context.WithCancel(context.Background())
	r.findRemains()
	if c.Metadata != nil {
		r.metadata = metadata.NewClient(*c.Metadata)
		r.loadNotices()
	}
	r.updateInterruptionFile()
	return r
}

// close waits for everything that runs beside.
func (r *runner) close() {
	r.cancel()
	if r.calling {
		<-r.answers
	}
	if r.probing {
		<-r.probed
	}
	if r.job != nil {
		<-r.jobOver
	}
	if r.settling {
		s := <-r.settlements
		r.settled = &s
	}
	if r.settled != nil {
		r.settled.User.Release()
	}
	if r.hookRunning {
		<-r.hookOver
	}
	if r.readingNotices {
		<-r.noticesRead
	}
}

func (r *runner) run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		r.cleanUp()
		r.startHook()
		r.settleJobUser()
		if r.refused != nil && r.groupEmpty() {
			return r.refused
		}
		r.startJobIfWanted()
		r.stopWorkerIfUnwanted()
		r.startProbes()
		r.startReadingNotices()
		r.startCall()
		if reason := r.limitReached(); reason != "" && r.mayLeave() {
			r.Logger.Info("leaving", "reason", reason)
			r.leave(ctx, reason, 5)
			return nil
		}
		timer.Reset(time.Until(r.nextMoment()))
		select {
		case <-timer.C:
		case answer := <-r.answers:
			r.calling = false
			answer()
		case shown := <-r.probed:
			r.keepProbes(shown)
		case result := <-r.jobOver:
			r.keepResult(result)
		case l := <-r.noticesRead:
			r.keepNotices(l)
		case s := <-r.settlements:
			r.keepSettlement(s)
		case err := <-r.hookOver:
			r.keepHook(err)
		case <-ctx.Done():
			return r.end(nil)
		}
		if r.fatal != nil {
			return r.end(r.fatal)
		}
	}
}

// end ends the job and then the agent. Only an agent with no job says that it
// leaves, and only if the manager still listens to it.
func (r *runner) end(why error) error {
	if r.job != nil && !r.endJob() {
		return errors.Join(why, fmt.Errorf("the agent stopped, but %s", r.problem))
	}
	if why == nil && !r.Stay && r.history.record.Running == nil {
		short, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		r.leave(short, "signal", 2)
	}
	return why
}

// nextMoment is when time makes something due.
func (r *runner) nextMoment() time.Time {
	next := time.Now().Add(time.Hour)
	sooner := func(t time.Time) {
		if t.Before(next) {
			next = t
		}
	}
	if !r.calling {
		sooner(r.renewDue)
		if r.probeResults != nil || len(r.probeNames) == 0 {
			sooner(r.heartbeatDue)
		}
	}
	if !r.probing && r.probesMissing() {
		sooner(r.probeDue)
	}
	if r.Metadata != nil && !r.readingNotices {
		sooner(r.noticesDue)
	}
	if r.job == nil && r.mayStart() {
		sooner(r.jobNotBefore)
	}
	if r.hasRemains() {
		sooner(r.cleanDue)
	}
	if s := r.settled; s != nil && s.Err != nil && !r.settling && r.job == nil && !r.hasRemains() && !r.hookDue() {
		sooner(r.settleDue)
	}
	if age := r.maxAge(); age > 0 && r.mayLeave() {
		sooner(r.started.Add(age))
	}
	return next
}

// phase is what the agent is doing now.
func (r *runner) phase() string {
	switch {
	case r.job != nil:
		return phaseRunning
	case r.directive.Want == agentapi.WantStop:
		return phaseStopped
	}
	return phaseIdle
}

// groupEmpty says that no process of any job is left on this host.
func (r *runner) groupEmpty() bool { return r.job == nil && r.history.record.Running == nil }

func (r *runner) maxAge() time.Duration {
	return time.Duration(r.directive.MaxAgeSeconds) * time.Second
}

// limitReached names the limit that lets this agent begin no other job.
func (r *runner) limitReached() string {
	if most := r.directive.MaxJobs; most > 0 && r.history.record.Begun >= most {
		return "max_jobs"
	}
	if age := r.maxAge(); age > 0 && time.Since(r.started) >= age {
		return "max_age"
	}
	return ""
}

// mayLeave says that the agent has nothing to do. One that was told to stop goes
// on beating until its host is removed, and one whose clean-up hook failed until
// somebody has looked.
func (r *runner) mayLeave() bool {
	return r.groupEmpty() && !r.hookDue() && r.directive.Want != agentapi.WantStop
}
