package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func imageOf(digit string) fleet.Image {
	return fleet.Image{
		Name:      "base",
		Digest:    "sha256:" + strings.Repeat(digit, 64),
		Bootstrap: "file",
		Ref:       "base-" + digit,
	}
}

// imaged is a fleet whose file asks for an image, with healthy instances of others.
func imaged(asks string, of ...string) snapshot.State {
	s := state(slices.Repeat([]fleet.CapacityInstanceState{fleet.Healthy}, len(of))...)
	f := &s.Fleets[0]
	f.Image, f.Rollout = imageOf(asks), fleet.RolloutPolicy{Canary: 1, Soak: time.Hour, Surge: 1}
	for n, digit := range of {
		i := &s.Instances[n]
		i.ImageDigest, i.Image = imageOf(digit).Digest, imageOf(digit).ID("0.1.0")
		i.Class, i.InstanceDigest = f.Class.ID(), f.InstanceDigest()
	}
	return s
}

func TestAnImageIsWhatItIsToItsFleets(t *testing.T) {
	known := func(s snapshot.State, change func(*fleet.Rollout)) map[fleet.RunnerFleetID]fleet.Rollout {
		before := s.Fleets[0].Make()
		before.Image = imageOf("a")
		r := fleet.Rollout{
			Fleet:  s.Fleets[0].ID,
			Target: s.Fleets[0].Make(),
			Agent:  "0.1.0",
			Began:  now,
			Good:   []fleet.Make{before},
		}
		change(&r)
		return map[fleet.RunnerFleetID]fleet.Rollout{r.Fleet: r}
	}
	passed := func(r *fleet.Rollout) { r.Soaking, r.Passed = now, now }
	for _, test := range []struct {
		name   string
		state  snapshot.State
		change func(*fleet.Rollout)
		orders fleet.Overrides
		want   []string
	}{
		{"on trial", imaged("b", "a", "a", "b"), func(*fleet.Rollout) {}, fleet.Overrides{},
			[]string{"a known_good 2/0", "b canary 1/2"}},
		{"on its way", imaged("b", "a", "b", "b"), passed, fleet.Overrides{}, []string{"a known_good 1/0", "b rolling 2/1"}},
		{"everywhere", imaged("b", "b", "b"), passed, fleet.Overrides{}, []string{"a known_good 0/0", "b active 2/0"}},
		{"halted", imaged("b", "a", "a"), func(r *fleet.Rollout) {
			r.Halted = &fleet.RolloutHalt{Reason: reason.Plain("it was lost")}
		}, fleet.Overrides{}, []string{"a known_good 2/0", "b halted 0/2"}},
		{"rolled back", imaged("b", "a", "a"), passed,
			fleet.Overrides{
				Rollouts: []fleet.RolloutOrder{
					{Fleet: "f1", Action: fleet.RollBack, From: imageOf("b"), To: imageOf("a"),
						Attribution: fleet.Attribution{By: "ada"}}}},
			[]string{"a active 2/0", "b rolled_back 0/0"}},
		{"quarantined", imaged("b", "b", "c"), passed,
			fleet.Overrides{Quarantines: []fleet.Quarantine{{Image: imageOf("b").Digest}}},
			[]string{"a known_good 0/0", "b quarantined 1/1", "c old 1/0"}},
	} {
		test.state.Rollouts, test.state.Overrides = known(test.state, test.change), test.orders
		all := func(fleet.FleetAddress) bool { return true }
		var got []string
		for _, i := range Images(with(test.state, observing()), all) {
			got = append(got, fmt.Sprintf("%s %s %d/%d", i.Digest[7:8], i.State, i.Instances, i.Others))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if none := Images(with(test.state, observing()), func(fleet.FleetAddress) bool { return false }); len(none) > 0 {
			t.Errorf("%s: who may see no fleet sees %+v", test.name, none)
		}
	}
}
