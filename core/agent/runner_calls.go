package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// startCall begins the call that is due, a renewal before a beat. The first
// beat waits for the probes.
func (r *runner) startCall() {
	now := time.Now()
	switch {
	case r.calling:
	case !now.Before(r.renewDue):
		r.startRenewal()
	case !now.Before(r.heartbeatDue) && (r.probeResults != nil || len(r.probeNames) == 0):
		r.startHeartbeat()
	}
}

// begin makes a call beside the loop; what it returns runs in the loop.
func (r *runner) begin(call func(context.Context) func()) {
	r.calling = true
	go func() { r.answers <- call(r.background) }()
}

func (r *runner) startHeartbeat() {
	beat := r.beat()
	r.lastHeartbeat, r.lastPhase, r.lastEmpty = time.Now(), beat.Phase, beat.GroupEmpty
	r.lastHeard, r.lastOrder = beat.Heard, beat.Order
	r.lastIsolation, r.lastProblem, r.lastNotices = beat.Isolation, beat.Unhealthy, r.notices
	r.begin(func(ctx context.Context) func() {
		var answer agentapi.HeartbeatResponse
		err := r.client.call(ctx, agentapi.HeartbeatPath, beat, &answer)
		return func() { r.keepHeartbeatResponse(answer, err) }
	})
}

// beat is the state of this moment, under the directive that it names: the loop
// has done what that one asks before it makes a beat.
func (r *runner) beat() agentapi.Heartbeat {
	problem := cmp.Or(r.problem, r.history.record.CleanupFailed, r.isolationProblem())
	if r.job != nil {
		_, _ = r.job.group.Members() // reaps orphans while the job runs on
		if stuck := r.job.stuck.Load(); stuck != nil {
			problem = *stuck
		}
	}
	isolation, evidence := r.isolation()
	return agentapi.Heartbeat{
		Clock: r.Now().UTC(), AgentVersion: r.Version, Phase: r.phase(), GroupEmpty: r.groupEmpty(),
		Order: r.directive.Order, Heard: r.directive.Want,
		JobsRun: r.jobsRun(), LastExit: r.history.record.LastExit, Probes: r.probeResults,
		Isolation: isolation, IsolationEvidence: evidence,
		Load1: load1(), DiskFree: diskFree(r.StateDir), Unhealthy: problem,
		Notices: r.wireNotices(),
	}
}

// jobsRun counts the jobs that are over.
func (r *runner) jobsRun() int {
	n := r.history.record.Begun
	if r.history.record.Running != nil {
		n--
	}
	return n
}

// keepHeartbeatResponse makes the manager's answer what is wanted. Without an answer
// nothing changes: the job continues.
func (r *runner) keepHeartbeatResponse(answer agentapi.HeartbeatResponse, err error) {
	r.finishTrustTrial(err)
	if err != nil {
		if hasCode(err, agentapi.CodeCertificateExpired) && r.failedRenewals == 0 {
			r.renewDue = time.Now()
		}
		r.failedHeartbeats++
		if r.handleFailure("heartbeat", r.failedHeartbeats, err) {
			return
		}
		// No rarer than beats are due, so that the manager's return is seen soon.
		wait := Backoff{First: min(r.Retry.First, r.interval), Most: min(r.Retry.Most, r.interval)}
		r.heartbeatDue = time.Now().Add(wait.Jittered(r.failedHeartbeats, r.Random()))
		return
	}
	r.clearRefusal()
	if r.failedHeartbeats > 0 {
		r.Logger.Info("the manager answers again", "failed_beats", r.failedHeartbeats)
		r.failedHeartbeats = 0
	}
	if answer.Directive.Want != r.directive.Want {
		r.Logger.Info("new instruction from the manager", "want", answer.Directive.Want, "before", r.directive.Want)
	}
	r.directive, r.directiveReceived = answer.Directive, true
	r.keepInterruption(answer.Directive.Interruption)
	r.interval = min(max(time.Duration(answer.NextMillis)*time.Millisecond, 50*time.Millisecond), 5*time.Minute)
	r.heartbeatDue = r.lastHeartbeat.Add(r.interval)
	if answer.Trust != nil {
		r.tryTrust(*answer.Trust)
	}
	if len(answer.ProbeCapabilities) > 0 {
		r.probeNames = answer.ProbeCapabilities
	}
	r.scheduleHeartbeatIfChanged()
}

// scheduleHeartbeatIfChanged brings the next beat forward when the last one is no longer
// true: at once when the manager waits for it, else not too often.
func (r *runner) scheduleHeartbeatIfChanged() {
	heard := r.directive.Want != r.lastHeard || r.directive.Order != r.lastOrder
	isolation, _ := r.isolation()
	complains := r.history.record.CleanupFailed != "" && r.lastProblem == ""
	announced := !slices.Equal(r.notices, r.lastNotices)
	if r.phase() == r.lastPhase && r.groupEmpty() == r.lastEmpty && isolation == r.lastIsolation && !complains && !heard &&
		!announced {
		return
	}
	soon := time.Now()
	if r.directive.Want != agentapi.WantStop && isolation == r.lastIsolation && !heard && !announced {
		soon = r.lastHeartbeat.Add(minHeartbeatInterval)
	}
	if soon.Before(r.heartbeatDue) && r.failedHeartbeats == 0 {
		r.heartbeatDue = soon
	}
}

func (r *runner) startRenewal() {
	csr, err := r.identity.request()
	if err != nil {
		r.fatal = err
		return
	}
	request := agentapi.RenewRequest{CSR: csr, Clock: r.Now().UTC()}
	r.begin(func(ctx context.Context) func() {
		var answer agentapi.Certificate
		err := r.client.call(ctx, agentapi.RenewPath, request, &answer)
		return func() { r.keepRenewal(answer, err) }
	})
}

func (r *runner) keepRenewal(answer agentapi.Certificate, err error) {
	r.finishTrustTrial(err)
	if err == nil {
		err = r.useCertificate(answer)
	}
	if err != nil {
		r.failedRenewals++
		if !r.handleFailure("renewal", r.failedRenewals, err) {
			r.renewDue = time.Now().Add(r.Retry.Jittered(r.failedRenewals, r.Random()))
		}
		return
	}
	r.clearRefusal()
	r.failedRenewals = 0
	r.renewDue = time.Now().Add(seconds(answer.RenewAfterSeconds))
	if r.failedHeartbeats > 0 {
		r.heartbeatDue = time.Now() // perhaps it was the certificate
	}
}

func (r *runner) useCertificate(c agentapi.Certificate) error {
	if err := r.identity.keepCertificate(c); err != nil {
		return err
	}
	certificate, err := r.identity.certificate()
	if err != nil {
		return err
	}
	r.client.use(certificate)
	return nil
}

// handleFailure takes note of a call's failure and says whether it ends the agent now.
// The first of a row is logged, and then ever fewer.
func (r *runner) handleFailure(call string, times int, err error) bool {
	switch reaction, refused := reactionTo(err); reaction {
	case agentapi.EndJob:
		r.fatal = refused
		return true
	case agentapi.FinishJob:
		if r.refused == nil {
			r.Logger.Warn(
				"the manager refused this agent: it starts no more jobs and stops after the running one",
				"call",
				call,
				"error",
				err,
			)
		}
		r.refused = refused
	}
	if times&(times-1) == 0 {
		r.Logger.Warn("call to the manager failed; trying again", "call", call, "times", times, "error", err)
	}
	return false
}

// clearRefusal takes note that the manager took a call of this agent.
func (r *runner) clearRefusal() {
	if r.refused != nil {
		r.Logger.Info("the manager accepts this agent again", "refused_with", r.refused.Code)
		r.refused = nil
	}
}

// leave says the agent's last word, trying a few times: a manager that doesn't
// hear it will find the runner silent.
func (r *runner) leave(ctx context.Context, reason string, tries int) {
	for n := 1; n <= tries; n++ {
		err := r.client.call(ctx, agentapi.LeavePath, agentapi.LeaveRequest{Reason: reason}, &struct{}{})
		if hasCode(err, agentapi.CodeCertificateExpired) {
			err = errors.Join(err, r.renewNow(ctx))
		}
		reaction, _ := reactionTo(err)
		if err == nil || reaction == agentapi.FinishJob || reaction == agentapi.EndJob {
			return
		}
		r.Logger.Warn("could not report to the manager that this agent leaves", "reason", reason, "error", err)
		select {
		case <-time.After(r.Retry.Jittered(n, r.Random())):
		case <-ctx.Done():
			return
		}
	}
}

// renewNow renews outside of the loop.
func (r *runner) renewNow(ctx context.Context) error {
	csr, err := r.identity.request()
	if err != nil {
		return err
	}
	var answer agentapi.Certificate
	if err := r.client.call(
		ctx,
		agentapi.RenewPath,
		agentapi.RenewRequest{CSR: csr, Clock: r.Now().UTC()},
		&answer,
	); err != nil {
		return err
	}
	return r.useCertificate(answer)
}
