package loop

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/market"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// step is one step's copy of the stored state with what has changed in it.
type step struct {
	now time.Time
	// stored is the state as the store has it, with the lists of rows that make no
	// sense among them. What this step changes is in rows alone.
	stored snapshot.State
	// fleets are the stored ones under the freezes and rollbacks of people.
	fleets map[fleet.RunnerFleetID]fleet.ManagedFleet
	// remembered is what this step adds to what is known of rollouts.
	remembered  []fleet.Rollout
	rows        []*row // by instance id
	byID        map[fleet.CapacityInstanceID]*row
	byKey       map[fleet.OperationID]*row
	byOperation map[fleet.OperationID]*row
	// byResource are the rows that have, or had in this step, a resource recorded.
	byResource map[recordedResource][]*row
	// byBatch are the rows of each batch, in no order.
	byBatch map[fleet.OperationID][]*row
	// failedBatches are the batches whose failure was noted in this step.
	failedBatches map[fleet.OperationID]bool
	backoffs      map[fleet.RunnerFleetID]backoff
	circuits      market.Circuits
	// damaged are the rows that make no sense, by the fleet that they hold.
	damaged map[fleet.RunnerFleetID]reason.Reason
	// withoutBootstrap are the fleets whose new hosts couldn't be let in, with the reason.
	withoutBootstrap map[fleet.RunnerFleetID]reason.Reason
	// blocked are the fleets whose provider only a person can bring back.
	blocked map[fleet.RunnerFleetID]reason.Reason
	// unheard are the providers whose runners fell silent together.
	unheard   map[fleet.ProviderAddress]reason.Reason
	decisions []fleet.Decision
	// forecasts are what models say, and needed what is stored of what fleets need.
	forecasts   map[fleet.RunnerFleetID]forecast.Prediction
	needed      []store.NeededRun
	retired     []fleet.RunnerFleetID
	transitions []Transition
	ends        []end
	outcomes    []OrderOutcome
}

// row is one instance with everything that belongs to it.
type row struct {
	fleet.CapacityInstance
	fleet     fleet.ManagedFleet
	provision *fleet.Operation
	terminate *fleet.Operation  // the open or last one; nil: none
	runner    *fleet.Runner     // nil: no agent enrolled
	claim     *fleet.AssetClaim // nil: the provider makes its hosts
	// leases is how many jobs its scheduler last showed on it.
	leases   int
	dirty    bool
	dirtyOps map[fleet.OperationID]*fleet.Operation
}

// end is a move that may be the end of an instance's useful life.
type end struct {
	row   *row
	cause lifecycle.Cause
	from  fleet.CapacityInstanceState
}

// newStep joins the rows that belong together. A row that makes no sense is set
// aside: it must not stop the others.
func newStep(now time.Time, s snapshot.State) *step {
	w := &step{
		now:              now,
		stored:           s,
		fleets:           make(map[fleet.RunnerFleetID]fleet.ManagedFleet, len(s.Fleets)),
		rows:             make([]*row, 0, len(s.Instances)),
		byID:             make(map[fleet.CapacityInstanceID]*row, len(s.Instances)),
		byKey:            make(map[fleet.OperationID]*row, len(s.Instances)),
		byOperation:      make(map[fleet.OperationID]*row, len(s.Operations)),
		byResource:       make(map[recordedResource][]*row, len(s.Instances)),
		byBatch:          map[fleet.OperationID][]*row{},
		failedBatches:    map[fleet.OperationID]bool{},
		damaged:          map[fleet.RunnerFleetID]reason.Reason{},
		withoutBootstrap: map[fleet.RunnerFleetID]reason.Reason{},
	}
	for _, f := range s.Governed() {
		w.fleets[f.ID] = f
	}
	instances := s.Instances
	if len(s.Departing) > 0 {
		instances = slices.Concat(instances, s.Departing)
	}
	byID := make(map[fleet.CapacityInstanceID]*row, len(instances))
	for _, i := range instances {
		byID[i.ID] = &row{CapacityInstance: i, fleet: w.fleets[i.Fleet]}
	}
	for n := range s.Operations {
		op := s.Operations[n]
		if r := byID[op.Instance]; r != nil {
			r.attach(&op)
			w.byOperation[op.ID] = r
		}
	}
	for n := range s.Runners {
		if r := byID[s.Runners[n].Instance]; r != nil {
			r.runner = &s.Runners[n]
		}
	}
	for _, i := range instances {
		r := byID[i.ID]
		switch _, known := w.fleets[i.Fleet]; {
		case !known:
			w.damaged[i.Fleet] = reason.Of(reason.FleetRowMissing{Instance: string(i.ID), Fleet: string(i.Fleet)})
		case r.provision == nil:
			w.damaged[i.Fleet] = reason.Of(reason.OperationRowMissing{Instance: string(i.ID), Operation: string(i.Key)})
		default:
			w.rows = append(w.rows, r)
			w.byID[i.ID], w.byKey[i.Key] = r, r
			w.index(r)
			w.indexBatch(r)
		}
	}
	w.joinClaims(s.Claims)
	w.takeUpClaims(s.Unwritten)
	slices.SortFunc(w.rows, func(a, b *row) int { return cmp.Compare(a.ID, b.ID) })
	return w
}

func (r *row) attach(op *fleet.Operation) {
	switch {
	case op.ID == r.Key:
		r.provision = op
	case op.Kind == fleet.TerminateOperation && (r.terminate == nil || op.ID > r.terminate.ID):
		r.terminate = op
	}
}

// moveFor takes the instance through one edge of the lifecycle. A move that the
// table lacks is a bug; the instance then stays as it is, and says so.
func (w *step) moveFor(r *row, to fleet.CapacityInstanceState, cause lifecycle.Cause, why reason.Reason) bool {
	return w.tryMove(r, to, cause, why) == nil
}

// tryMove is moveFor with the error that a missing edge is.
func (w *step) tryMove(r *row, to fleet.CapacityInstanceState, cause lifecycle.Cause, why reason.Reason) error {
	from := r.State
	if err := lifecycle.Move(&r.CapacityInstance, to, cause, w.now, why); err != nil {
		r.conflict(reason.Of(reason.MoveRejected{Message: err.Error()}))
		return err
	}
	r.dirty = true
	w.ends = append(w.ends, end{r, cause, from})
	w.transitions = append(
		w.transitions,
		Transition{Instance: r.ID, Fleet: r.fleet.Address, From: from, To: to, Reason: why},
	)
	return nil
}

// move is moveFor with a reason of the loop's own.
func (w *step) move(r *row, to fleet.CapacityInstanceState, cause lifecycle.Cause, why reason.Detail) bool {
	return w.moveFor(r, to, cause, reason.Of(why))
}

// edit marks an operation of the row as changed and returns it.
func (r *row) edit(op *fleet.Operation) *fleet.Operation {
	if r.dirtyOps == nil {
		r.dirtyOps = map[fleet.OperationID]*fleet.Operation{}
	}
	r.dirtyOps[op.ID] = op
	return op
}

// conflict records why nothing is done about an instance; no reason lifts it.
func (r *row) conflict(why reason.Reason) {
	if r.Conflict != why {
		r.Conflict, r.dirty = why, true
	}
}

// change is everything that the step writes. A step that changed nothing writes
// nothing.
func (w *step) change() store.Change {
	c := store.Change{
		Decisions:    w.decisions,
		Needed:       w.needed,
		Rollouts:     w.remembered,
		RetireFleets: w.retired,
		Serial:       w.stored.Serial,
	}
	for _, r := range w.rows {
		if r.dirty {
			c.Instances = append(c.Instances, r.CapacityInstance)
		}
		for _, op := range []*fleet.Operation{r.provision, r.terminate} {
			if op != nil && r.dirtyOps[op.ID] != nil {
				c.Operations = append(c.Operations, *op)
			}
		}
	}
	return c
}
