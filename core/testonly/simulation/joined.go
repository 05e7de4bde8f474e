package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

const inventoryAddress = fleet.ProviderAddress("lab.here")

// joinLife is how long a join command is good here: a day would outlast the run.
const joinLife = 10 * time.Minute

// drawInventory makes the hosts that people own, and the fleet that they join
// them to.
func (w *world) drawInventory(random *rand.Rand) {
	joined := w.store.fleets[1]
	joined.ID, joined.Address, joined.Provider, joined.Joined = "f3", "fleet.joined", inventoryAddress, true
	joined.Class.Capabilities = nil
	joined.Scaling = fleet.ScalingPolicy{Min: 1, Max: 1 + random.IntN(4)}
	w.store.fleets = append(w.store.fleets, joined)
	c := &cloud{
		w:         w,
		number:    2,
		inventory: true,
		address:   inventoryAddress,
		random:    rand.New(rand.NewPCG(w.options.Seed, 12)),
		looks:     map[time.Time]look{},
		lastCall:  map[fleet.OperationID]time.Duration{},
		facts: fleet.ProviderFacts{
			Plugin:      "lab",
			Account:     "3",
			Idempotency: fleet.IdempotencyByAsset,
			Ownership:   fleet.OwnershipAssigned,
		},
	}
	for n := range 2 + random.IntN(4) {
		id := fmt.Sprintf("host-%d", n+1)
		w.store.assets = append(w.store.assets, fleet.Asset{ID: id, Platform: joined.Class.Platform})
		c.resources = append(
			c.resources,
			&resource{
				Resource: fleet.Resource{ID: fleet.ProviderInstanceRef(id), Kind: fleet.AssetKind, State: fleet.ResourceRunning},
			},
		)
		if draw := random.Uint64(); draw%2 == 0 {
			w.agenda.add(time.Duration(random.Int64N(int64(chaos/2))), func() { w.joinHost(rand.New(rand.NewPCG(draw, 2))) })
		}
	}
	w.clouds = append(w.clouds, c)
}

// joinHost is a person who asks for a join command for a host that is free, and
// either types it in on that host within some minutes or forgets it.
func (w *world) joinHost(random *rand.Rand) {
	f := w.store.fleets[2]
	live := 0
	taken := map[string]bool{}
	for _, i := range w.store.live() {
		if i.Fleet == f.ID {
			live++
			taken[i.Asset] = true
		}
	}
	for _, p := range w.store.pending {
		live++
		taken[p.instance.Asset] = true
	}
	free := slices.DeleteFunc(slices.Clone(w.store.assets), func(a fleet.Asset) bool { return taken[a.ID] })
	if !w.manager.alive || live >= f.Scaling.Max || len(free) == 0 {
		return
	}
	a := free[random.IntN(len(free))]
	why := reason.Of(reason.JoinRequested{By: "ada", Asset: a.ID})
	i, op, err := inventory.RequestAsset(w.manager.newID, agentVersion, w.now(), f, a, fleet.BootstrapIntent{}, why)
	if err != nil {
		w.fail("the simulation lacks something", "claim %s: %v", a.ID, err)
		return
	}
	w.store.claim(
		i,
		op,
		fleet.AssetClaim{
			Provider: f.Provider,
			Asset:    a.ID,
			Instance: i.ID,
			At:       w.now(),
			By:       "ada",
			Expires:  w.now().Add(joinLife),
		},
	)
	w.manager.stepSoon(0)
	w.say("a person asks to join %s, as %s", a.ID, i.ID)
	if random.IntN(3) == 0 {
		return // and forgets it
	}
	w.after(time.Duration(5+random.IntN(120))*time.Second, func() {
		r := w.clouds[2].byID(fleet.ProviderInstanceRef(a.ID))
		if r.State != fleet.ResourceRunning {
			return
		}
		for _, h := range w.hosts {
			if h.resource == r {
				h.left = true // the command takes the host over from an agent before
			}
		}
		r.host = newHost(w, r, i.ID)
		r.host.enroll()
	})
}

// releaseHost is a person who takes a host out of the file.
func (w *world) releaseHost(random *rand.Rand) {
	if len(w.store.assets) == 0 {
		return
	}
	n := random.IntN(len(w.store.assets))
	w.say("a person takes %s out of the inventory", w.store.assets[n].ID)
	w.store.assets = slices.Delete(slices.Clone(w.store.assets), n, n+1)
	w.manager.stepSoon(0)
}

// pendingClaim is what a claim asks for.
type pendingClaim struct {
	instance  fleet.CapacityInstance
	operation fleet.Operation
}

// claim stores a claim with what it asks for, as `token join` does.
func (m *memoryStore) claim(i fleet.CapacityInstance, op fleet.Operation, c fleet.AssetClaim) {
	m.commits++
	m.pending = append(m.pending, pendingClaim{i, op})
	m.claims = append(m.claims, c)
}

// release gives the hosts of ended instances back, within their commit.
func (m *memoryStore) release(c store.Change) {
	for _, i := range c.Instances {
		if !i.Live() {
			m.claims = slices.DeleteFunc(
				slices.Clone(m.claims),
				func(claim fleet.AssetClaim) bool { return claim.Instance == i.ID },
			)
		}
	}
}

// tokenExpires is when an instance's token does.
func (m *memoryStore) tokenExpires(i fleet.CapacityInstance) time.Time {
	if c := m.claimOf(i.ID); !c.Expires.IsZero() {
		return c.Expires
	}
	return m.operations[i.Key].TokenExpires
}

// claimOf is the claim of an instance; the zero value: it has none.
func (m *memoryStore) claimOf(id fleet.CapacityInstanceID) fleet.AssetClaim {
	for _, c := range m.claims {
		if c.Instance == id {
			return c
		}
	}
	return fleet.AssetClaim{}
}

// hostsAreHeldOnce: "one host is one capacity instance", and an unclaimed host
// is neither asked for nor released.
func (w *world) hostsAreHeldOnce(key fleet.OperationID, what string) {
	for _, i := range w.store.instances {
		if i.Key != key || i.Provider != inventoryAddress {
			continue
		}
		if c := w.store.claimOf(i.ID); c.Asset == "" || c.Asset != i.Asset {
			w.fail(
				"a host is held by the one instance that claimed it",
				"%s is %s for %s, which hasn't claimed it",
				i.Asset,
				what,
				i.ID,
			)
		}
	}
}
