package loop

import (
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// side is which side of a commit a point lies on.
type side bool

const (
	uncommitted side = false
	committed   side = true
)

// hitFailpoints passes the points that lie right before and right after the commit of a
// step, which are told by what the step writes. Everything that a step decides
// is stored by that one commit, so before it a crash leaves nothing, wherever in
// the step it comes.
func (w *step) hitFailpoints(at side) {
	if !failpoint.Enabled {
		return
	}
	for _, t := range w.transitions {
		at.move(t.To)
	}
	for _, e := range w.ends {
		at.cause(e)
	}
	for _, r := range w.rows {
		at.operations(r)
	}
	if len(w.retired) > 0 {
		at.hit(failpoint.RetirementUncommitted.Hit, failpoint.RetirementCommitted.Hit)
	}
}

func (at side) hit(before, after func()) {
	if at == uncommitted {
		before()
		return
	}
	after()
}

func (at side) move(to fleet.CapacityInstanceState) {
	switch to {
	case fleet.Requested:
		at.hit(failpoint.RequestUncommitted.Hit, failpoint.RequestCommitted.Hit)
	case fleet.Provisioning:
		at.hit(failpoint.SendUncommitted.Hit, failpoint.SendCommitted.Hit)
	case fleet.Bootstrapping:
		at.hit(failpoint.HostUncommitted.Hit, failpoint.HostCommitted.Hit)
	case fleet.Enrolling:
		at.hit(failpoint.ContactUncommitted.Hit, failpoint.ContactCommitted.Hit)
	case fleet.Healthy:
		at.hit(failpoint.AdmissionUncommitted.Hit, failpoint.AdmissionCommitted.Hit)
	case fleet.Draining:
		at.hit(failpoint.DrainUncommitted.Hit, failpoint.DrainCommitted.Hit)
	case fleet.Terminating:
		at.hit(failpoint.TerminationUncommitted.Hit, failpoint.TerminationCommitted.Hit)
	case fleet.Terminated:
		at.hit(failpoint.EndUncommitted.Hit, failpoint.EndCommitted.Hit)
	}
}

// cause passes the points that are told by why something moved.
func (at side) cause(e end) {
	if at == committed {
		return
	}
	switch {
	case e.cause == lifecycle.IdleProven:
		failpoint.IdleUncommitted.Hit()
	case e.cause == lifecycle.ProvenGone && e.row.terminate != nil && e.row.terminate.CallOver.IsZero():
		failpoint.GoneByInspectionUncommitted.Hit()
	}
}

func (at side) operations(r *row) {
	op := r.provision
	switch {
	case r.dirtyOps[op.ID] == nil:
	case op.State == fleet.OperationUnknown && op.CallOver.IsZero():
		at.hit(failpoint.UnknownUncommitted.Hit, failpoint.UnknownCommitted.Hit)
	case op.State == fleet.OperationPending && op.Attempts > 0:
		at.hit(failpoint.AbsenceUncommitted.Hit, failpoint.AbsenceCommitted.Hit)
	}
}
