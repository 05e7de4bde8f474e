package simulation

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// memoryStore has the contract of core/store: a commit is there whole or not at
// all, whatever its answer says.
type memoryStore struct {
	w          *world
	fleets     []fleet.ManagedFleet
	policy     fleet.InstallationPolicy
	instances  map[fleet.CapacityInstanceID]fleet.CapacityInstance
	operations map[fleet.OperationID]fleet.Operation
	runners    map[fleet.CapacityInstanceID]fleet.Runner
	decisions  []fleet.Decision
	overrides  fleet.Overrides
	rollouts   map[fleet.RunnerFleetID]fleet.Rollout
	assets     []fleet.Asset
	claims     []fleet.AssetClaim
	// pending are the instances that claims ask for, until the loop writes them.
	pending []pendingClaim
	needed  map[fleet.RunnerFleetID]map[forecast.Slot]forecast.Run
	// open are the instances that aren't concluded, in order.
	open []fleet.CapacityInstanceID
	// commits counts those that wrote something; stored is in which of them an
	// operation was first written.
	commits int
	stored  map[fleet.OperationID]int
	// unsure makes the next commit that writes be stored and fail.
	unsure bool
}

var (
	errNotStored = errors.New("the disk is full")
	errUnsure    = errors.New("the connection broke during the commit")
)

func newMemoryStore(w *world) *memoryStore {
	return &memoryStore{
		w:          w,
		instances:  map[fleet.CapacityInstanceID]fleet.CapacityInstance{},
		operations: map[fleet.OperationID]fleet.Operation{},
		runners:    map[fleet.CapacityInstanceID]fleet.Runner{},
		rollouts:   map[fleet.RunnerFleetID]fleet.Rollout{},
		stored:     map[fleet.OperationID]int{},
		needed:     map[fleet.RunnerFleetID]map[forecast.Slot]forecast.Run{},
	}
}

// Load is all that the loop plans from.
func (m *memoryStore) Load(context.Context) (snapshot.State, error) {
	s := snapshot.State{
		Serial:    1,
		Fleets:    slices.Clone(m.fleets),
		Claims:    slices.Clone(m.claims),
		Policy:    m.policy,
		Overrides: m.overrides,
		Rollouts:  maps.Clone(m.rollouts),
	}
	s.Providers = []fleet.Provider{{Address: inventoryAddress, Assets: m.assets}}
	for _, id := range m.open {
		i := m.instances[id]
		s.Instances = append(s.Instances, i)
		if r, enrolled := m.runners[id]; enrolled {
			s.Runners = append(s.Runners, r)
		}
	}
	for _, p := range m.pending {
		s.Instances, s.Operations = append(s.Instances, p.instance), append(s.Operations, p.operation)
		s.Unwritten = append(s.Unwritten, p.instance.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(m.instances)) {
		if commitment, paid := m.instances[id].Commitment(); paid {
			s.Commitments = append(s.Commitments, commitment)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.operations)) {
		if op := m.operations[id]; !m.instances[op.Instance].Concluded() {
			s.Operations = append(s.Operations, op)
		}
	}
	slices.SortFunc(s.Instances, func(a, b fleet.CapacityInstance) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Operations, func(a, b fleet.Operation) int { return cmp.Compare(a.ID, b.ID) })
	return s, nil
}

// Commit writes a change, or fails before or after it did.
func (m *memoryStore) Commit(_ context.Context, c store.Change) error {
	if c.Empty() {
		return nil
	}
	crash := m.w.manager.crash
	if crash == beforeCommit || m.w.during(CommitsFail, -1) {
		return errNotStored
	}
	m.commits++
	m.w.haltedMakesNothingNew(c, m.rollouts)
	for _, i := range c.Instances {
		m.instances[i.ID] = i
		m.pending = slices.DeleteFunc(m.pending, func(p pendingClaim) bool { return p.instance.ID == i.ID })
	}
	for _, op := range c.Operations {
		m.operations[op.ID] = op
		if m.stored[op.ID] == 0 {
			m.stored[op.ID] = m.commits
		}
	}
	for _, r := range c.Rollouts {
		m.rollouts[r.Fleet] = r
	}
	m.decisions = append(m.decisions, c.Decisions...)
	m.takeDown(c.Needed)
	m.release(c)
	m.reopen()
	m.w.checkCommit(c)
	if crash == afterCommit || m.unsure {
		m.unsure = false
		return errUnsure
	}
	return nil
}

// Recall finds instances, live or ended.
func (m *memoryStore) Recall(
	_ context.Context,
	keys []fleet.OperationID,
	ids []fleet.CapacityInstanceID,
) ([]store.Recalled, error) {
	var found []store.Recalled
	for _, id := range slices.Sorted(maps.Keys(m.instances)) {
		i := m.instances[id]
		if slices.Contains(keys, i.Key) || slices.Contains(ids, i.ID) {
			found = append(found, store.Recalled{Instance: i, Provision: m.operations[i.Key]})
		}
	}
	return found, nil
}

// live are the instances that aren't proven gone, in order.
func (m *memoryStore) live() []fleet.CapacityInstance {
	var out []fleet.CapacityInstance
	for _, id := range m.open {
		if i := m.instances[id]; i.Live() {
			out = append(out, i)
		}
	}
	return out
}

// beat records what an agent says, as enroll does.
func (m *memoryStore) beat(id fleet.CapacityInstanceID, now time.Time, change func(*fleet.Runner)) {
	r := m.runners[id]
	r.Beats, r.LastBeat = r.Beats+1, now
	change(&r)
	m.runners[id] = r
}

// reopen finds the instances that aren't concluded.
func (m *memoryStore) reopen() {
	m.open = m.open[:0]
	for id, i := range m.instances {
		if !i.Concluded() {
			m.open = append(m.open, id)
		}
	}
	slices.Sort(m.open)
}

// fleet is the fleet of an instance.
func (m *memoryStore) fleet(id fleet.CapacityInstanceID) fleet.ManagedFleet {
	n := slices.IndexFunc(m.fleets, func(f fleet.ManagedFleet) bool { return f.ID == m.instances[id].Fleet })
	if n < 0 {
		return fleet.ManagedFleet{}
	}
	return m.fleets[n]
}
