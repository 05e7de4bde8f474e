package snapshot

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// known is a manager that has listened for an hour, and one healthy instance of a
// fleet, whose runner has just called.
func known() Snapshot {
	s := Snapshot{Now: now, Observations: Observations{Since: now.Add(-time.Hour)}}
	s.Fleets = []fleet.ManagedFleet{
		{ID: "f", RunnerFleet: fleet.RunnerFleet{Timeouts: fleet.Timeouts{Heartbeat: time.Minute}}},
	}
	s.Instances = []fleet.CapacityInstance{{ID: "i", Fleet: "f", Provider: "local.here", Key: "k", State: fleet.Healthy}}
	s.Runners = []fleet.Runner{{ID: "r", Instance: "i", LastBeat: now}}
	return s
}

func TestAnInstanceShowsWhatIsKnownOfIt(t *testing.T) {
	request, err := json.Marshal(fleet.ProvisionIntent{Offers: []fleet.Offer{{Zone: "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	silent := func(s *Snapshot) { s.Runners[0].LastBeat = now.Add(-30 * time.Minute) }
	for _, test := range []struct {
		name   string
		change func(*Snapshot)
		want   Instance // its row aside
	}{
		{"nothing", func(*Snapshot) {}, Instance{}},
		{"missed heartbeats", silent, Instance{Silent: true}},
		{"heartbeats before anybody listened", func(s *Snapshot) { silent(s); s.Since = now.Add(-time.Second) }, Instance{}},
		{"heartbeats that no one listens to", func(s *Snapshot) { silent(s); s.Observations = Observations{} }, Instance{}},
		{"silence of all runners of its provider", func(s *Snapshot) {
			silent(s)
			s.Unheard = map[fleet.ProviderAddress]reason.Reason{
				"local.here": reason.Of(reason.RunnersSilentTogether{Silent: 3, Runners: 3})}
		}, Instance{}},
		{"an agent that ended", func(s *Snapshot) { s.Runners[0].Left = now }, Instance{Left: true}},
		{"a job that its agent runs", func(s *Snapshot) {
			s.Runners[0].Report.Phase = fleet.PhaseRunning
		}, Instance{Busy: true}},
		{"a worker of a scheduler without a lease", func(s *Snapshot) {
			s.Runners[0].Report.Phase, s.Instances[0].Scheduling.Scheduler = fleet.PhaseRunning, "forgeyard.ci"
			s.Usage = map[fleet.CapacityInstanceID]Usage{"i": {IdleSince: now}}
		}, Instance{IdleSince: now}},
		{"leases", func(s *Snapshot) {
			s.Instances[0].Scheduling.Scheduler = "forgeyard.ci"
			s.Usage = map[fleet.CapacityInstanceID]Usage{"i": {Leases: 2}}
		}, Instance{Busy: true, Leases: 2}},
		{"a zone that it heads for", func(s *Snapshot) {
			s.Fleets[0].Placement.Spread = fleet.SpreadZone
			s.Operations = []fleet.Operation{{ID: "k", Instance: "i", Kind: fleet.ProvisionOperation, Request: request}}
		}, Instance{HeadsFor: "b"}},
		{"a failure", func(s *Snapshot) {
			s.Failures = map[fleet.CapacityInstanceID]reason.Reason{"i": reason.Plain("it was lost")}
		}, Instance{Failure: reason.Plain("it was lost")}},
		{"silence of exactly the timeout", func(s *Snapshot) { s.Runners[0].LastBeat = now.Add(-time.Minute) }, Instance{}},
		{"a host that waits to be joined", func(s *Snapshot) {
			s.Instances[0].Asset, s.Instances[0].State = "mac-1", fleet.Bootstrapping
			s.Claims = []fleet.AssetClaim{{Instance: "i", Expires: now.Add(time.Hour)}}
		}, Instance{JoinUntil: now.Add(time.Hour)}},
		{"a claim of a host that was joined", func(s *Snapshot) {
			s.Instances[0].Asset = "mac-1"
			s.Claims = []fleet.AssetClaim{{Instance: "i", Expires: now.Add(time.Hour)}}
		}, Instance{}},
		{"a zone in a spread over regions", func(s *Snapshot) {
			s.Fleets[0].Placement.Spread = fleet.SpreadRegion
			s.Operations = []fleet.Operation{{ID: "k", Instance: "i", Kind: fleet.ProvisionOperation, Request: request}}
		}, Instance{HeadsFor: "b"}},
		{"a pin", func(s *Snapshot) {
			s.Overrides.Pins = []fleet.RunnerPin{{Instance: "i", Until: now.Add(time.Hour)}}
		}, Instance{Pinned: true}},
		{"a pin that is over", func(s *Snapshot) {
			s.Overrides.Pins = []fleet.RunnerPin{{Instance: "i", Until: now}}
		}, Instance{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := known()
			test.change(&s)
			test.want.CapacityInstance = s.Instances[0]
			if diff := cmp.Diff([]Instance{test.want}, s.ObservedInstances()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestInstancesThatEndedCountWhereTheyFailed(t *testing.T) {
	s := known()
	s.Departing = []fleet.CapacityInstance{{ID: "gone", Fleet: "f"}, {ID: "lost", Fleet: "f"}}
	s.Failures = map[fleet.CapacityInstanceID]reason.Reason{"lost": reason.Plain("it was lost")}
	got := s.ObservedInstances()
	if len(got) != 2 || got[1].ID != "lost" || got[1].Failure.Text() != "it was lost" {
		t.Errorf("got %+v", got)
	}
}

func TestLiveInstancesComeByFleetAndID(t *testing.T) {
	s := known()
	s.Instances = []fleet.CapacityInstance{
		{ID: "a", Fleet: "g", State: fleet.Healthy}, {ID: "c", Fleet: "f", State: fleet.Healthy},
		{ID: "b", Fleet: "f", State: fleet.Draining}, {ID: "0", Fleet: "f", State: fleet.Terminated},
	}
	var got []fleet.CapacityInstanceID
	for _, i := range s.ObservedInstances() {
		got = append(got, i.ID)
	}
	if diff := cmp.Diff([]fleet.CapacityInstanceID{"b", "c", "a"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHoldWithoutAnEndStaysInForce(t *testing.T) {
	for until, want := range map[time.Time]bool{{}: true, now.Add(time.Second): true, now: false} {
		if got := (Hold{Until: until}).InForce(now); got != want {
			t.Errorf("until %s: in force is %t", until, got)
		}
	}
}

func TestGovernedFleetsGoByRollbacksAlone(t *testing.T) {
	s := known()
	old, bad := fleet.Image{Name: "old", Digest: "sha256:1"}, fleet.Image{Name: "bad", Digest: "sha256:2"}
	s.Fleets[0].Image = bad
	s.Overrides.Rollouts = []fleet.RolloutOrder{{Fleet: "f", Action: fleet.RollBack, From: bad, To: old}}
	if got := s.Governed(); got[0].Image != old || s.Fleets[0].Image != bad {
		t.Errorf("it governs with %+v, stored is %+v", got[0].Image, s.Fleets[0].Image)
	}
}
