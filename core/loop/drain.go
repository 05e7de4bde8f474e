package loop

import (
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// advanceDrains takes draining runners on: cordoned, told to stop, proven idle,
// then terminated [34]. Where there is a scheduler its half of the proof comes
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
func (l *Loop) idleProof(w *step, r *row) (string, bool) {
	leases, free := l.leaseFree(r)
	if !free {
		return "", false
	}
	proof, idle := l.agentIdle(w, r)
	return strings.TrimSpace(proof + " " + leases), idle
}

// agentIdle is the host's half of the proof.
func (l *Loop) agentIdle(w *step, r *row) (string, bool) {
	if r.runner == nil {
		return "No agent ever enrolled, so it was never given work.", true
	}
	if r.Admission.State != fleet.AdmissionVerified {
		return "It was never admitted, so it was never given work.", true
	}
	told := lifecycle.InstructionFor(r.CapacityInstance) == lifecycle.Stop
	report := r.runner.Report
	if told && report.Order == lifecycle.OrderOf(r.CapacityInstance) && report.Phase == fleet.PhaseStopped && report.GroupEmpty {
		after := "after " + jobCount(report.JobsRun)
		if r.Scheduling.Scheduler != "" {
			after = "its worker" // which may have run many jobs, and the agent knows of none
		}
		return fmt.Sprintf("The agent has stopped %s, and no process of a job is left.", after), true
	}
	limit := r.fleet.Timeouts.Heartbeat + r.fleet.Timeouts.Quarantine
	if _, _, known := l.schedulerOf(r).Usage(&r.CapacityInstance); known {
		// The scheduler shows that no job is there; a dead agent can't say it. One
		// that was taken out of the definition shows nothing.
		limit = max(r.fleet.Timeouts.LostGrace, r.fleet.Timeouts.Heartbeat)
	}
	if s := l.silentFor(w, r); s > limit {
		return fmt.Sprintf("The agent has been silent for %s.", s.Truncate(time.Second)), true
	}
	return "", false
}

func jobCount(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}
