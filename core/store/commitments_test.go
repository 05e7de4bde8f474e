package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// paid is change with hosts that were made some hours ago at a price, and were
// seen.
func paid(first, last int, ago time.Duration) Change {
	c := change(first, last)
	for n := range c.Instances {
		i := &c.Instances[n]
		i.Created, i.ProviderInstance = now.Add(-ago), "p"
		i.Cost = fleet.InstanceCost{Hourly: fleet.Money{Micros: 192_000, Currency: "USD"}, Minimum: time.Minute}
	}
	return c
}

// ended are the change's instances as they are once they ended at a time.
func ended(c Change, at time.Time) Change {
	for n := range c.Instances {
		c.Instances[n].State, c.Instances[n].Since = fleet.Terminated, at
	}
	c.Operations = nil
	return c
}

func commitmentsAreLoaded(t *testing.T, location string) {
	s := applied(t, open(t, location))
	must(t, s.Commit(t.Context(), paid(1, 6, 5*24*time.Hour)))
	first, err := s.Load(t.Context())
	must(t, err)
	if len(first.Commitments) != 0 {
		t.Errorf("what runs is paid for as it runs: %+v", first.Commitments)
	}
	must(
		t,
		s.Commit(t.Context(), ended(paid(1, 1, 5*24*time.Hour), now.Add(-72*time.Hour))),
	) // too long ago to be of today
	must(t, s.Commit(t.Context(), ended(paid(2, 2, 5*24*time.Hour), now.Add(-20*time.Hour))))
	free, unmade := ended(paid(3, 3, time.Hour), now), ended(paid(4, 4, time.Hour), now)
	free.Instances[0].Cost, unmade.Instances[0].ProviderInstance = fleet.InstanceCost{}, ""
	must(t, s.Commit(t.Context(), free))
	must(t, s.Commit(t.Context(), unmade))
	long := ended(paid(5, 5, 5*24*time.Hour), now.Add(-100*time.Hour)) // and its minimum isn't over
	long.Instances[0].Cost.Minimum = 6 * 24 * time.Hour
	must(t, s.Commit(t.Context(), long))
	departs := ended(paid(6, 6, time.Second), now)
	departs.Instances[0].Scheduling.Scheduler = "forgeyard.ci"
	departs.Instances[0].Scheduling.Ref = "r"
	must(t, s.Commit(t.Context(), departs))
	want := []fleet.Commitment{
		{Instance: "02", From: now.Add(-5 * 24 * time.Hour), Until: now.Add(-20 * time.Hour)},
		{Instance: "05", From: now.Add(-5 * 24 * time.Hour), Until: now.Add(24 * time.Hour)},
		{Instance: "06", From: now.Add(-time.Second), Until: now.Add(time.Minute - time.Second)},
	}
	for name, s := range map[string]*Store{"which loaded before": s, "which loads first": open(t, location)} {
		state, err := s.Load(t.Context())
		must(t, err)
		var got []fleet.Commitment
		for _, l := range state.Commitments {
			if l.Hourly.Micros != 192_000 || l.Fleet != managed(1).ID {
				t.Errorf("%s: %+v", name, l)
			}
			got = append(got, fleet.Commitment{Instance: l.Instance[len(l.Instance)-2:], From: l.From, Until: l.Until})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("a store %s:\n%s", name, diff)
		}
	}
}

func prunesNothingThatIsPaidFor(t *testing.T, location string) {
	s := applied(t, open(t, location))
	must(t, s.Commit(t.Context(), paid(1, 2, 50*24*time.Hour)))
	c := ended(paid(1, 2, 50*24*time.Hour), now.Add(-40*24*time.Hour))
	c.Instances[1].Cost.Minimum = 60 * 24 * time.Hour
	must(t, s.Commit(t.Context(), c))
	pruned, err := s.Prune(t.Context(), now.Add(-30*24*time.Hour))
	must(t, err)
	left, err := s.Instances(t.Context(), InstanceFilter{IncludeTerminated: true})
	must(t, err)
	if pruned.Instances != 1 || len(left) != 1 || left[0].ID != c.Instances[1].ID {
		t.Errorf("pruned %d, left %v", pruned.Instances, left)
	}
}
