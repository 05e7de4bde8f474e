package loop

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/planner/forecast"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// fakeStore is the store's contract in memory: what was committed survives a new
// Loop, what wasn't doesn't.
type fakeStore struct {
	fleets     map[fleet.RunnerFleetID]fleet.ManagedFleet
	instances  map[fleet.CapacityInstanceID]fleet.CapacityInstance
	operations map[fleet.OperationID]fleet.Operation
	runners    map[fleet.RunnerID]fleet.Runner
	decisions  []fleet.Decision
	commits    int // those that wrote something
	fail       error
	overrides  fleet.Overrides
	needed     map[fleet.RunnerFleetID]map[forecast.Slot]forecast.Run
	unreadable error // why what fleets needed can't be read
	rollouts   map[fleet.RunnerFleetID]fleet.Rollout
}

func newFakeStore(fleets ...fleet.ManagedFleet) *fakeStore {
	m := &fakeStore{
		fleets:     map[fleet.RunnerFleetID]fleet.ManagedFleet{},
		instances:  map[fleet.CapacityInstanceID]fleet.CapacityInstance{},
		operations: map[fleet.OperationID]fleet.Operation{},
		runners:    map[fleet.RunnerID]fleet.Runner{},
		needed:     map[fleet.RunnerFleetID]map[forecast.Slot]forecast.Run{},
		rollouts:   map[fleet.RunnerFleetID]fleet.Rollout{},
	}
	for _, f := range fleets {
		m.fleets[f.ID] = f
	}
	return m
}

func (m *fakeStore) Load(context.Context) (snapshot.State, error) {
	s := snapshot.State{Overrides: m.overrides, Rollouts: maps.Clone(m.rollouts)}
	s.Fleets = slices.Collect(maps.Values(m.fleets))
	for _, i := range m.instances {
		switch {
		case i.Live():
			s.Instances = append(s.Instances, i)
		case !i.Concluded():
			s.Departing = append(s.Departing, i)
		}
		if commitment, paid := i.Commitment(); paid {
			s.Commitments = append(s.Commitments, commitment)
		}
	}
	for _, op := range m.operations {
		if i := m.instances[op.Instance]; !i.Concluded() {
			s.Operations = append(s.Operations, op)
		}
	}
	s.Runners = slices.Collect(maps.Values(m.runners))
	return s, nil
}

func (m *fakeStore) Commit(_ context.Context, c store.Change) error {
	if m.fail != nil {
		return m.fail
	}
	if !c.Empty() {
		m.commits++
	}
	for _, r := range c.Needed {
		if m.needed[r.Fleet] == nil {
			m.needed[r.Fleet] = map[forecast.Slot]forecast.Run{}
		}
		m.needed[r.Fleet][r.First] = r.Run
	}
	for _, i := range c.Instances {
		m.instances[i.ID] = i
	}
	for _, op := range c.Operations {
		m.operations[op.ID] = op
	}
	for _, r := range c.Rollouts {
		m.rollouts[r.Fleet] = r
	}
	m.decisions = append(m.decisions, c.Decisions...)
	for _, id := range c.RetireFleets {
		delete(m.fleets, id)
	}
	return nil
}

// Recall finds what the store still has, live or ended.
func (m *fakeStore) Recall(
	_ context.Context,
	keys []fleet.OperationID,
	ids []fleet.CapacityInstanceID,
) ([]store.Recalled, error) {
	var found []store.Recalled
	for _, i := range m.instances {
		if op, ok := m.operations[i.Key]; ok && (slices.Contains(keys, i.Key) || slices.Contains(ids, i.ID)) {
			found = append(found, store.Recalled{Instance: i, Provision: op})
		}
	}
	return found, nil
}

// Needed is what fleets needed.
func (m *fakeStore) Needed(
	_ context.Context,
	ids []fleet.RunnerFleetID,
) (map[fleet.RunnerFleetID][]forecast.Run, error) {
	out := map[fleet.RunnerFleetID][]forecast.Run{}
	for _, id := range ids {
		out[id] = slices.Collect(maps.Values(m.needed[id]))
	}
	return out, m.unreadable
}

// keyring has a current key and the earlier ones, each of one byte.
func keyring(current byte, earlier ...byte) ownership.Keyring {
	secret := func(fill byte) []byte { return bytes.Repeat([]byte{fill}, ownership.KeyBytes) }
	var before [][]byte
	for _, fill := range earlier {
		before = append(before, secret(fill))
	}
	ring, err := ownership.NewKeyring(secret(current), before...)
	if err != nil {
		panic(err)
	}
	return ring
}

// enrollment issues tokens that say which operation they are for.
type enrollment struct{ err error }

func (enrollment) Issue(op fleet.OperationID) ([]byte, string, error) {
	return []byte("nonce of " + op), "hash of " + string(op), nil
}

func (e enrollment) Bootstrap(_ fleet.ProviderAddress, kind string, p fleet.Platform) (fleet.BootstrapIntent, error) {
	return fleet.BootstrapIntent{
		Kind:          kind,
		ManagerURL:    "https://127.0.0.1:7443",
		CAFingerprint: "sha256:ca",
		AgentURL:      "https://127.0.0.1:7443/agent?" + p.Target(),
	}, e.err
}
