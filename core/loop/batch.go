package loop

import (
	"cmp"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// A batch is several operations whose requests go out in one call. Each keeps its own
// outcome, and what an inspection shows of it is its own. What they share is that the
// call is the same every time that it is made: whole, and under the batch's key.
//
// A batch that lost a member, since that was removed or is over, is broken and is
// never sent again: it would ask for what no one wants any more. What was made of it
// is found by inspection; a member that is proven absent then ends, and the plan asks
// again for what is still wanted.

// inBatches parts new instances into those that go out in one call. Only requests
// that are the same go together, and one that tries whether there is room again goes
// alone, since a batch is made whole or not at all.
func (l *Loop) inBatches(f fleet.ManagedFleet, requests []planner.Request) [][]planner.Request {
	most := f.Batch
	if p := l.provider(f.Provider); p.Facts != nil {
		if p.Facts.MaxBatch > 0 {
			most = min(most, p.Facts.MaxBatch)
		}
		if !p.Facts.Batches {
			most = 1
		}
	}
	if !f.Admission.RequiresIdentity() {
		most = 1 // no one could tell the hosts apart
	}
	if most < 2 {
		return slices.Collect(slices.Chunk(requests, 1))
	}
	var groups [][]planner.Request
	open := map[string]int{} // by what they are made of: the group that has room
	for _, one := range requests {
		what := fleet.Digest(struct {
			Offers []fleet.Offer
			Make   *fleet.Make
		}{one.Offers, one.Make})
		at, there := open[what]
		if !there || len(one.Probes) > 0 || len(groups[at]) >= most {
			at = len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], one)
		if len(one.Probes) == 0 {
			open[what] = at
		}
	}
	return groups
}

func (w *step) indexBatch(r *row) {
	if key := r.provision.Batch.Key; key != "" {
		w.byBatch[key] = append(w.byBatch[key], r)
	}
}

// batch are the rows of a row's batch in its order, those that are over left out.
func (w *step) batch(r *row) []*row {
	var members []*row
	for _, other := range w.byBatch[r.provision.Batch.Key] {
		if other.Live() {
			members = append(members, other)
		}
	}
	slices.SortFunc(
		members,
		func(a, b *row) int { return cmp.Compare(a.provision.Batch.Number, b.provision.Batch.Number) },
	)
	return members
}

// batchBroken says that a row is of a batch that doesn't go out again: it has gone out, and
// one of its members is wanted no more.
func (w *step) batchBroken(r *row) bool {
	if r.provision.Batch.Key == "" {
		return false
	}
	members := w.batch(r)
	unsent := !slices.ContainsFunc(members, func(m *row) bool { return m.provision.Attempts > 0 })
	ending := slices.ContainsFunc(
		members,
		func(m *row) bool { return m.State == fleet.Failed || m.State == fleet.Terminating },
	)
	return !unsent && (ending || len(members) < r.provision.Batch.Size)
}

// endWithBatch ends a member that is proven absent, and whose batch is broken.
func (w *step) endWithBatch(r *row) {
	op := r.edit(r.provision)
	op.State, op.Reason = fleet.OperationNotCreated, reason.Of(reason.ProvenAbsent{BatchBroken: true})
	w.endUncreated(r, op.Reason)
}

// batchUnderWay says that a call for the row's batch may be running: nothing of it is
// removed meanwhile.
func (w *step) batchUnderWay(r *row) bool {
	return slices.ContainsFunc(
		w.byBatch[r.provision.Batch.Key],
		func(m *row) bool { return m.provision.State == fleet.OperationInProgress },
	)
}

// sendBatch returns the call of a row's batch, if all of it may go out now.
func (l *Loop) sendBatch(w *step, p *inventory.Provider, r *row) Effect {
	if w.batchBroken(r) {
		return nil
	}
	members := w.batch(r)
	for _, m := range members {
		made := m.provision.State == fleet.OperationSucceeded
		if !made && !l.maySend(w, p, m) {
			return nil
		}
		if !p.Facts.Batches {
			m.conflict(reason.Of(reason.BatchUnsupported{Plugin: p.Facts.Plugin}))
			return nil
		}
		if _, readable := m.intent(); !readable {
			return nil
		}
	}
	w.fixBatch(members)
	call := ProvisionBatch{Provider: r.Provider, Key: r.provision.Batch.Key}
	for _, m := range members {
		if m.provision.State == fleet.OperationSucceeded {
			intent, _ := m.intent()
			call.Members = append(call.Members, Provision{Provider: m.Provider, Operation: *m.provision, Intent: intent})
			continue
		}
		member, _ := w.beginProvision(p, m)
		call.Members = append(call.Members, member)
	}
	return call
}

// fixBatch fixes the places of a batch that goes out for the first time: members that
// were cancelled before have left it. From then on it never changes.
func (w *step) fixBatch(members []*row) {
	for n, m := range members {
		if place := (fleet.BatchPlace{Key: m.provision.Batch.Key, Number: n,
			Size: len(members)}); m.provision.Batch != place {
			m.edit(m.provision).Batch = place
		}
	}
}
