package loop

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// advanceDrains takes draining runners on: cordoned, told to stop, proven idle,
// then terminated (spec §34). Where there is a scheduler its half of the proof comes
// first: until it shows no lease, the agent isn't told, and the drain can be
// taken back. The agent's word after it was told to stop is the other half. Time
// alone never is, unless the agent has been silent for heartbeat and quarantine
// together.
func (l *Loop) advanceDrains(w *step) {
	for _, r := range w.rows {
		switch {
		case r.State == fleet.Draining:
			if _, free := l.leaseFree(r); free && r.Drain == fleet.Cordoned {
				r.Drain, r.dirty = fleet.Stopping, true
			}
			if proof, ok := l.idleProof(w, r); ok {
				w.move(r, fleet.Terminating, lifecycle.IdleProven, proof)
			}
		case r.State == fleet.Quarantined && r.fleet.Operational == fleet.FleetDraining:
			if proof, ok := l.idleProof(w, r); ok {
				w.move(r, fleet.Terminating, lifecycle.IdleProven, proof)
			}
		}
	}
}

// idleProof says why no job is on the host and none can come. The agent's word
// counts only if it echoes this very instruction to stop: a report from before
// it, or from an earlier drain, proves nothing.
func (l *Loop) idleProof(w *step, r *row) (reason.Detail, bool) {
	leases, free := l.leaseFree(r)
	if !free {
		return nil, false
	}
	proof, idle := l.agentIdle(w, r)
	return reason.IdleProof{Agent: reason.Of(proof), Scheduler: leases}, idle
}

// agentIdle is the host's half of the proof.
func (l *Loop) agentIdle(w *step, r *row) (reason.Detail, bool) {
	if r.runner == nil {
		return reason.NeverEnrolled{}, true
	}
	if r.Admission.State != fleet.AdmissionVerified {
		return reason.NeverAdmitted{}, true
	}
	told := lifecycle.InstructionFor(r.CapacityInstance) == lifecycle.Stop
	report := r.runner.Report
	if told && report.Order == lifecycle.OrderOf(r.CapacityInstance) && report.Phase == fleet.PhaseStopped &&
		report.GroupEmpty {
		if r.Scheduling.Scheduler != "" { // its worker may have run many jobs, and the agent knows of none
			return reason.AgentStopped{Worker: true}, true
		}
		return reason.AgentStopped{Jobs: report.JobsRun}, true
	}
	limit := r.fleet.Timeouts.Heartbeat + r.fleet.Timeouts.Quarantine
	if _, _, known := l.schedulerOf(r).Usage(&r.CapacityInstance); known {
		// The scheduler shows that no job is there; a dead agent can't say it. One
		// that was taken out of the definition shows nothing.
		limit = max(r.fleet.Timeouts.LostGrace, r.fleet.Timeouts.Heartbeat)
	}
	if s := l.silentFor(w, r); s > limit {
		return reason.AgentSilent{For: seconds(s)}, true
	}
	return nil, false
}

// seconds is a duration for people, without fractions of a second.
func seconds(d time.Duration) reason.Duration { return reason.Duration(d.Truncate(time.Second)) }
