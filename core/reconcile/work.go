package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// work is one step's copy of the stored state with what has changed in it.
type work struct {
	now         time.Time
	serial      int64 // of the definition that the state showed
	fleets      map[fleet.RunnerFleetID]fleet.ManagedFleet
	rows        []*row // by instance id
	byKey       map[fleet.OperationID]*row
	byOperation map[fleet.OperationID]*row
	decisions   []fleet.Decision
	retired     []fleet.RunnerFleetID
	transitions []Transition
}

// row is one instance with everything that belongs to it.
type row struct {
	fleet.CapacityInstance
	fleet     fleet.ManagedFleet
	provision *fleet.Operation
	terminate *fleet.Operation // the open or last one; nil: none
	runner    *fleet.Runner    // nil: no agent enrolled
	dirty     bool
	dirtyOps  map[fleet.OperationID]*fleet.Operation
}

func newWork(now time.Time, s store.State) (*work, error) {
	w := &work{
		now:         now,
		serial:      s.Serial,
		fleets:      make(map[fleet.RunnerFleetID]fleet.ManagedFleet, len(s.Fleets)),
		rows:        make([]*row, 0, len(s.Instances)),
		byKey:       make(map[fleet.OperationID]*row, len(s.Instances)),
		byOperation: make(map[fleet.OperationID]*row, len(s.Operations)),
	}
	for _, f := range s.Fleets {
		w.fleets[f.ID] = f
	}
	byID := make(map[fleet.CapacityInstanceID]*row, len(s.Instances))
	for _, i := range s.Instances {
		f, ok := w.fleets[i.Fleet]
		if !ok {
			return nil, fmt.Errorf("the store has instance %s of fleet %s but not the fleet", i.ID, i.Fleet)
		}
		r := &row{CapacityInstance: i, fleet: f}
		byID[i.ID], w.byKey[i.Key] = r, r
		w.rows = append(w.rows, r)
	}
	slices.SortFunc(w.rows, func(a, b *row) int { return cmp.Compare(a.ID, b.ID) })
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
	for _, r := range w.rows {
		if r.provision == nil {
			return nil, fmt.Errorf("the store has instance %s without its provision operation %s", r.ID, r.Key)
		}
	}
	return w, nil
}

func (r *row) attach(op *fleet.Operation) {
	switch {
	case op.ID == r.Key:
		r.provision = op
	case op.Kind == fleet.TerminateOperation && (r.terminate == nil || op.ID > r.terminate.ID):
		r.terminate = op
	}
}

// move takes the instance through one edge of the lifecycle. A move that the
// table lacks is a bug; the instance then stays as it is, and says so.
func (w *work) move(r *row, to fleet.CapacityInstanceState, cause lifecycle.Cause, reason string) bool {
	from := r.State
	if err := lifecycle.Move(&r.CapacityInstance, to, cause, w.now, reason); err != nil {
		r.conflict(err.Error())
		return false
	}
	r.dirty = true
	w.transitions = append(w.transitions, Transition{Instance: r.ID, Fleet: r.fleet.Address, From: from, To: to, Reason: reason})
	return true
}

// edit marks an operation of the row as changed and returns it.
func (r *row) edit(op *fleet.Operation) *fleet.Operation {
	if r.dirtyOps == nil {
		r.dirtyOps = map[fleet.OperationID]*fleet.Operation{}
	}
	r.dirtyOps[op.ID] = op
	return op
}

// conflict records why nothing is done about an instance; "" lifts it.
func (r *row) conflict(why string) {
	if r.Conflict != why {
		r.Conflict, r.dirty = why, true
	}
}

// change is everything that the step writes. A step that changed nothing writes
// nothing.
func (w *work) change() store.Change {
	c := store.Change{Decisions: w.decisions, RetireFleets: w.retired, Serial: w.serial}
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

// provider is what the loop remembers of a provider between steps.
type provider struct {
	// facts is nil while no plugin process answers; down says why.
	facts *fleet.ProviderFacts
	down  string
	// blocked says that only a person can bring the plugin back.
	blocked bool
	// inspecting is set while an Inspect effect is under way.
	inspecting bool
	// inspected is when the last inspection was begun, whatever came of it.
	inspected time.Time
	// blind is why the last inspection shows less than everything; "": it was
	// complete.
	blind string
	// sight is the last complete inspection.
	sight *sighting
	// calls are the operations with a provision or terminate call under way.
	calls map[fleet.OperationID]bool
	// unrecorded counts resources without a live record at the last sighting.
	unrecorded int
}

// sighting is a complete inspection, by key.
type sighting struct {
	began time.Time
	byKey map[fleet.OperationID][]fleet.Resource
}

func (l *Loop) provider(a fleet.ProviderAddress) *provider {
	p := l.providers[a]
	if p == nil {
		p = &provider{down: "its plugin has not started yet", blind: "not inspected yet", calls: map[fleet.OperationID]bool{}}
		l.providers[a] = p
	}
	return p
}
