package loop

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
)

// TestRandomInterleavingsAmongLookAlikesTouchNothingOfOthers is the world of
// TestRandomInterleavingsConverge with somebody else in it, who copies resources,
// puts up ones with tags like ours, takes proofs away, attaches volumes and lets
// ended ones come back. Nothing foreign is ever touched and nothing in conflict
// deleted; once that somebody has cleaned up, nothing of ours is left behind.
func TestRandomInterleavingsAmongLookAlikesTouchNothingOfOthers(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(*interleavings) {
		s := &somebody{chaos: newChaos(t, seed, 7), reached: reached, past: map[fleet.OperationID]fleet.Resource{}}
		s.facts.Ownership = fleet.OwnershipSigned
		f := s.store.fleets["f1"]
		f.Timeouts.Quarantine = 10 * time.Minute // where a copy appears before admission
		s.store.fleets["f1"] = f
		s.step(ProviderReady{Provider: local, Facts: s.facts})
		for range 120 {
			if s.random.IntN(6) == 0 {
				s.meddle()
			} else {
				s.act()
			}
			s.check()
		}
		s.calm()
	}
	// What never happened was never tested.
	for _, event := range []string{"copy", "foreign", "volume", "back", "strip", "orphan removed", "conflict",
		"volume removed"} {
		if reached[event] < max(1, *interleavings/100) {
			t.Errorf("%q happened %d times in %d worlds", event, reached[event], *interleavings)
		}
	}
}

// somebody is a world with a person at the provider.
type somebody struct {
	*chaos
	reached map[string]int
	// past is every resource that ever was, as it was made.
	past map[fleet.OperationID]fleet.Resource
	made int
	seen int // calls that were checked
}

func (s *somebody) note(what string) {
	s.reached[what]++
	s.tell("somebody: %s", what)
}

// meddle does one thing at the provider that no manager asked for.
func (s *somebody) meddle() {
	s.remember()
	keys := slices.Sorted(maps.Keys(s.cloud))
	s.made++
	id := fleet.ProviderInstanceRef(fmt.Sprintf("other-%d", s.made))
	if len(keys) == 0 {
		s.putForeign(id)
		return
	}
	key := keys[s.random.IntN(len(keys))]
	switch s.random.IntN(7) {
	case 0:
		// Before its id is recorded no one can tell a copy from the genuine one.
		if s.instance(key).ProviderInstance == "" {
			return
		}
		s.note("copy")
		copied := s.cloud[key]
		copied.ID = id
		s.twins = append(s.twins, copied)
	case 1:
		s.putForeign(id)
	case 2:
		s.note("volume")
		s.others = append(
			s.others,
			fleet.Resource{ID: "part-" + id, Kind: "volume", Tags: s.past[key].Tags, State: fleet.ResourceRunning},
		)
	case 3:
		if tags := s.cloud[key].Tags; tags[inventory.ProofTag] != "" {
			s.note("strip")
			s.change(key, func(r *fleet.Resource) { delete(r.Tags, inventory.ProofTag) })
		}
	case 4:
		s.letComeBack()
	default:
		s.cleanUp(s.random.IntN(2) == 0)
	}
}

func (s *somebody) putForeign(id fleet.ProviderInstanceRef) {
	s.note("foreign")
	tags := []map[string]string{
		nil,
		{inventory.InstallationTag: "demo", inventory.FleetTag: "f1", inventory.InstanceTag: "i",
			inventory.KeyTag: "unknown"},
		tagsOf(keyring(9), "demo", "f1", "i", "k"+string(id)),
		tagsOf(keyring(9), "other", "f1", "i", "k"+string(id)),
		tagsOf(s.keys, "other", "f1", "i", "k"+string(id)),
	}[s.random.IntN(5)]
	s.others = append(s.others, stranger(string(id), tags))
}

// remember keeps what each resource was like.
func (s *somebody) remember() {
	for key, res := range s.cloud {
		if _, known := s.past[key]; !known {
			s.past[key] = res
		}
	}
}

// letComeBack makes an ended instance's resource appear again, as a create that
// the provider carries out late does.
func (s *somebody) letComeBack() {
	for _, key := range slices.Sorted(maps.Keys(s.past)) {
		if _, there := s.cloud[key]; there || s.instance(key).Live() || s.instance(key).ID == "" {
			continue
		}
		s.note("back")
		s.cloud[key] = s.past[key]
		return
	}
}

// cleanUp takes copies away and restores what was changed; all: foreign resources, too.
func (s *somebody) cleanUp(all bool) {
	s.twins = nil
	for key, res := range s.cloud {
		if was, known := s.past[key]; known && res.Tags[inventory.ProofTag] == "" {
			s.change(key, func(r *fleet.Resource) { r.Tags = was.Tags })
		}
	}
	if all {
		s.others = slices.DeleteFunc(
			s.others,
			func(r fleet.Resource) bool { return strings.HasPrefix(string(r.ID), "other-") },
		)
	}
}

// check looks at every call that went out since the last time, at the moment that
// it was decided.
func (s *somebody) check() {
	s.remember()
	for _, call := range s.calls[s.seen:] {
		resource, terminates := strings.CutPrefix(call, "terminate ")
		if !terminates {
			continue
		}
		if strings.HasPrefix(resource, "other-") {
			s.fatalf("the foreign resource or copy %s is terminated", resource)
		}
		if strings.HasPrefix(resource, "part-") {
			s.reached["volume removed"]++
		}
	}
	s.seen = len(s.calls)
	live := s.live()
	held := 0
	for _, i := range live {
		if i.Conflict.IsZero() {
			continue
		}
		held++
		s.reached["conflict"]++
		for _, op := range s.store.operations {
			if op.Instance == i.ID && op.Kind == fleet.TerminateOperation && op.State == fleet.OperationPending &&
				op.Attempts == 0 &&
				s.calling(op.ID) {
				s.fatalf("%s is in conflict and its termination is sent: %s", i.ID, i.Conflict)
			}
		}
	}
	// An orphan comes back onto the books whatever max is; nothing new is made then.
	orphans := 0
	for _, i := range live {
		if i.Cause == "orphan_found" {
			orphans++
		}
	}
	if len(live)-orphans > s.store.fleets["f1"].Scaling.Max {
		s.fatalf("%d instances are on the books, max is 4", len(live)-orphans)
	}
}

func (s *somebody) calling(id fleet.OperationID) bool {
	_, yes := s.loop.calls[id]
	return yes
}

// calm has somebody clean up and go, and time pass for the orphans' grace.
func (s *somebody) calm() {
	s.ambiguous.armed = false
	for len(s.running) > 0 {
		s.finish(true, false)
	}
	s.cleanUp(false)
	foreign := len(s.foreign())
	for key := range s.cloud {
		if !s.instance(key).Live() {
			s.reached["orphan removed"]++ // it must be, or it is left at the end
		}
	}
	clear(s.hidden)
	clear(s.jobs)
	for id := range s.store.runners {
		s.beat(id, func(r *fleet.Runner) { r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseIdle, true })
	}
	s.world.work(inventory.DefaultOrphanGrace + 3*time.Minute)
	s.settle()
	s.world.work(inventory.DefaultOrphanGrace + 3*time.Minute)
	s.settle()
	s.check()
	want := s.store.fleets["f1"].Scaling.Min
	if len(s.live()) != want || len(s.cloud) != want {
		s.fatalf("%d instances and %d resources, want %d of both", len(s.live()), len(s.cloud), want)
	}
	if got := len(s.foreign()); got != foreign {
		s.fatalf("%d foreign resources, were %d", got, foreign)
	}
	for _, res := range s.others {
		if i := s.instance(inventory.KeyOf(res)); res.Kind == "volume" && !i.Live() {
			s.fatalf("the volume %s of the %s %s is left behind", res.ID, i.State, i.ID)
		}
	}
}

func (s *somebody) foreign() []fleet.Resource {
	return slices.DeleteFunc(
		slices.Clone(s.others),
		func(r fleet.Resource) bool { return !strings.HasPrefix(string(r.ID), "other-") },
	)
}

// newChaos is a chaotic world of a seed.
func newChaos(t testing.TB, seed, stream uint64) *chaos {
	c := &chaos{
		ambiguous: &ambiguous{},
		world:     newWorld(t, demoFleet(2, 4)),
		random:    rand.New(rand.NewPCG(seed, stream)),
		seed:      seed,
		jobs:      map[fleet.RunnerID]bool{},
		told:      map[fleet.RunnerID]bool{},
		answer:    map[fleet.RunnerID]order{},
		last:      map[fleet.RunnerID]order{},
		heard:     map[fleet.RunnerID]bool{},
	}
	c.ambiguous.fakeStore = c.store
	c.restart()
	c.facts.ListSettle = time.Duration(seed%3) * 5 * time.Second
	return c
}
