package loop

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// failures are the instances that something went wrong with in this step before
// they were to leave, with what it was. Whether that speaks against what they were
// made from is the planner's to say.
func (w *step) failures() map[fleet.CapacityInstanceID]reason.Reason {
	found := map[fleet.CapacityInstanceID]reason.Reason{}
	for _, e := range w.ends {
		if w.isFailure(e) {
			found[e.row.ID] = e.row.Reason
		}
	}
	return found
}

// isFailure says whether a move shows a host that doesn't boot, doesn't enroll, isn't
// what it should be, or is lost. What its provider or a person took, a provider
// without room, and a runner that ends after its job, are no such thing; nor is a
// request whose resource never was seen, unless it was refused as invalid.
func (w *step) isFailure(e end) bool {
	r := e.row
	if r.neverJoined() || r.Interruption.Stands() {
		return false
	}
	switch e.cause {
	case lifecycle.NothingCreated:
		return r.provision.Class == fleet.ErrorInvalid
	case lifecycle.AdmissionRefused, lifecycle.EvidenceFailed, lifecycle.RunnerUnfit:
		return true
	case lifecycle.RunnerLost:
		return e.from == fleet.Healthy
	case lifecycle.DeadlinePassed:
		return r.State == fleet.Failed && r.everSeen()
	case lifecycle.ForQuarantine:
		q, quarantined := w.stored.Overrides.InstanceQuarantine(r.CapacityInstance)
		return quarantined && q.Fleet == ""
	case lifecycle.RunnerLeft:
		return e.from != fleet.Draining && r.terminate == nil && !r.Scheduling.Leaves && r.runner != nil &&
			r.runner.Report.JobsRun == 0
	case lifecycle.ResourceStopped, lifecycle.ProvenGone:
		comesOrWorks := e.from == fleet.Bootstrapping || e.from == fleet.Enrolling || e.from == fleet.Healthy
		reclaimed := r.fleet.Lifetime == fleet.LifetimePreemptible && w.now.Sub(r.Created) >= earlyEndAge
		ends := r.fleet.Runner.MaxJobs > 0 || r.fleet.Runner.MaxAge > 0
		leftItself := ends && r.runner != nil && r.runner.Report.JobsRun > 0
		return comesOrWorks && r.terminate == nil && !reclaimed && !leftItself
	}
	return false
}

// isTrustedOlder says that a request of an older definition may go out all the same:
// while the new one isn't trusted, that is what its fleet makes.
func (w *step) isTrustedOlder(r *row, agentVersion string) bool {
	known := w.stored.Rollouts[r.Fleet]
	order, _ := w.stored.Overrides.Rollout(r.fleet)
	trusted := !known.Passed.IsZero() && known.Halted == nil && order.Action != fleet.PauseRollout
	return !trusted &&
		slices.ContainsFunc(known.Good, func(m fleet.Make) bool { return m.Made(r.CapacityInstance, agentVersion) })
}
