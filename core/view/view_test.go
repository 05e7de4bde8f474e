package view

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// state is one fleet, min 2 and max 3, with an instance in each given state.
func state(states ...fleet.CapacityInstanceState) snapshot.State {
	f := fleet.ManagedFleet{ID: "f1", Operational: fleet.FleetActive, RunnerFleet: fleet.RunnerFleet{
		Address: "fleet.demo", Provider: "local.here", Class: fleet.CapacityClass{Name: "c"},
		Scaling: fleet.ScalingPolicy{Min: 2, Max: 3}, Timeouts: fleet.DefaultTimeouts(),
	}}
	s := snapshot.State{Fleets: []fleet.ManagedFleet{f}}
	for n, state := range states {
		id := string(rune('a' + n))
		s.Instances = append(s.Instances, fleet.CapacityInstance{
			ID: fleet.CapacityInstanceID(
				id,
			),
			Fleet:          f.ID,
			Provider:       f.Provider,
			State:          state,
			Since:          now.Add(-time.Minute),
			Key:            fleet.OperationID("k" + id),
			Class:          f.Class.ID(),
			Image:          f.Image.ID("0.1.0"),
			InstanceDigest: f.InstanceDigest(),
		})
		s.Runners = append(
			s.Runners,
			fleet.Runner{ID: fleet.RunnerID("r" + id), Instance: fleet.CapacityInstanceID(id), LastBeat: now.Add(-time.Second)},
		)
	}
	return s
}

// observing are the observations of a manager that has run for an hour.
func observing() snapshot.Observations { return snapshot.Observations{Since: now.Add(-time.Hour)} }

// with is a state and what a manager knows beyond it, as they are seen now.
func with(s snapshot.State, o snapshot.Observations) snapshot.Snapshot {
	return snapshot.Snapshot{Now: now, AgentVersion: "0.1.0", State: s, Observations: o}
}

func TestHealthIsDerivedFromTheWorstThingThatIsTrue(t *testing.T) {
	tests := []struct {
		name   string
		state  snapshot.State
		moment func(*snapshot.Observations)
		change func(*snapshot.State)
		want   Health
		reason string
	}{
		{name: "all there", state: state(fleet.Healthy, fleet.Healthy), want: Healthy},
		{name: "a conflict", state: state(fleet.Healthy, fleet.Healthy), change: func(s *snapshot.State) {
			s.Instances[0].Conflict = reason.Of(reason.KeyShared{Resources: 2, Key: "k1"})
		},
			want: Unhealthy, reason: "a: 2 resources carry the key"},
		{
			name:   "jobs that fail are told and are not the fleet's health",
			state:  state(fleet.Healthy, fleet.Healthy),
			change: func(s *snapshot.State) { s.Runners[0].Report.LastExit = "exit status 3" },
			want:   Healthy,
			reason: "the last job failed on 1 of 2 runners",
		},
		{
			name:   "a silent runner",
			state:  state(fleet.Healthy, fleet.Healthy),
			change: func(s *snapshot.State) { s.Runners[0].LastBeat = now.Add(-time.Hour) },
			want:   Unhealthy,
			reason: "no heartbeat from 1",
		},
		{name: "a provider that can't be seen", state: state(fleet.Healthy, fleet.Healthy),
			moment: func(m *snapshot.Observations) {
				m.Unobserved = map[fleet.ProviderAddress]reason.Reason{
					"local.here": reason.Of(reason.InspectionFailed{Message: "timeout"}),
				}
			}, want: ProviderDegraded, reason: "timeout"},
		{name: "an unknown outcome", state: state(fleet.Healthy, fleet.Provisioning), change: func(s *snapshot.State) {
			s.Operations = []fleet.Operation{{ID: "kb", Fleet: "f1", Instance: "b", State: fleet.OperationUnknown}}
		}, want: ProviderDegraded, reason: "1 unknown outcome until"},
		{name: "two unknown outcomes", state: state(fleet.Healthy, fleet.Provisioning), change: func(s *snapshot.State) {
			s.Operations = []fleet.Operation{
				{ID: "ka", Fleet: "f1", State: fleet.OperationUnknown},
				{ID: "kb", Fleet: "f1", State: fleet.OperationUnknown},
			}
		}, want: ProviderDegraded, reason: "2 unknown outcomes until"},
		{
			name:   "a quarantined instance",
			state:  state(fleet.Healthy, fleet.Healthy, fleet.Quarantined),
			want:   BootstrapDegraded,
			reason: "1 quarantined",
		},
		{
			name:   "max filled by what isn't gone",
			state:  state(fleet.Healthy, fleet.Terminating, fleet.Terminating),
			want:   CapacityConstrained,
			reason: "limited by max = 3, of which",
		},
		{
			name:   "a drain beyond its deadline",
			state:  state(fleet.Healthy, fleet.Healthy, fleet.Draining),
			change: func(s *snapshot.State) { s.Instances[2].Since = now.Add(-3 * time.Hour) },
			want:   CapacityConstrained,
			reason: "draining for longer than 2h",
		},
		{
			name:  "a termination beyond its deadline, and why",
			state: state(fleet.Healthy, fleet.Healthy, fleet.Terminating),
			change: func(s *snapshot.State) {
				s.Instances[2].Since = now.Add(-3 * time.Hour)
				s.Operations = []fleet.Operation{
					{
						ID:       "tc",
						Kind:     fleet.TerminateOperation,
						Fleet:    "f1",
						Instance: "c",
						State:    fleet.OperationRefused,
						Reason:   reason.Of(reason.ProviderError{Message: "vol-7 is held by i-1"}),
					},
				}
			},
			want:   CapacityConstrained,
			reason: "terminating for longer than 15m: vol-7 is held by i-1",
		},
		{name: "a held fleet", state: state(fleet.Healthy), moment: func(m *snapshot.Observations) {
			m.Holds = map[fleet.RunnerFleetID]snapshot.Hold{"f1": {Reason: reason.Plain("no hosts left")}}
		}, want: CapacityConstrained, reason: "no hosts left"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := observing()
			if tt.moment != nil {
				tt.moment(&m)
			}
			if tt.change != nil {
				tt.change(&tt.state)
			}
			got := Fleets(with(tt.state, m))[0]
			if got.Health != tt.want || !strings.Contains(said(got, now), tt.reason) {
				t.Errorf("%s because of %q, want %s because of %q", got.Health, got.Reasons, tt.want, tt.reason)
			}
		})
	}
}

// A fleet that no one could make hosts for was only short of capacity, and one whose
// scheduler no one asks was healthy.
func TestWhatCannotBeAskedIsNotHealthyAndSaysWhy(t *testing.T) {
	selling := state()
	selling.Fleets[0].Market, selling.Fleets[0].Instance = true, json.RawMessage(`{}`)
	key := selling.Fleets[0].MarketKey()
	const why = "no credentials were found"
	for _, test := range []struct {
		name   string
		state  snapshot.State
		moment func(*snapshot.Observations)
		want   Health
		reason string
	}{
		{"a provider that doesn't start, without any instance", selling, func(m *snapshot.Observations) {
			m.Offers = map[fleet.MarketKey]fleet.OfferList{}
			down := map[fleet.ProviderAddress]reason.Reason{"local.here": reason.Of(reason.PluginDown{Message: why})}
			m.Faults, m.Unobserved = down, down
		}, ProviderDegraded, "local.here can't be inspected (" + why},
		{"a market that refuses to answer", selling, func(m *snapshot.Observations) {
			m.Offers = map[fleet.MarketKey]fleet.OfferList{key: {Failure: why}}
		}, ProviderDegraded, "the provider's offers are not known: " + why},
		{"a scheduler that no one asks", following(fleet.Healthy), func(*snapshot.Observations) {}, CapacityConstrained,
			"scheduler.forgeyard.ci has not been asked yet, a running manager asks it; existing instances are kept"},
	} {
		m := observing()
		test.moment(&m)
		got := Fleets(with(test.state, m))[0]
		if all := said(
			got,
			now,
		); got.Health != test.want || strings.Count(all, test.reason) != 1 ||
			strings.Count(all, why) > 1 {
			t.Errorf(
				"%s: %s because of %q, want %s because of %q, once",
				test.name,
				got.Health,
				got.Reasons,
				test.want,
				test.reason,
			)
		}
	}
}

// said is what a fleet's reasons say, one a line.
func said(f Fleet, now time.Time) string {
	var lines []string
	for _, r := range f.Reasons {
		lines = append(lines, r.TextAt(now))
	}
	return strings.Join(lines, "\n")
}

// following is a fleet that follows the demand of a scheduler, from 0 to 2.
func following(states ...fleet.CapacityInstanceState) snapshot.State {
	s := state(states...)
	f := &s.Fleets[0]
	f.Scheduler, f.Class.Resources = "forgeyard.ci", fleet.ResourceCapacity{CPUMilli: 1000}
	f.Class.Platform.OS = "linux"
	f.Scaling = fleet.ScalingPolicy{
		Max:         2,
		ScaleToZero: true,
		ScaleDown:   fleet.ScaleDownPolicy{IdleGrace: time.Minute, Cooldown: time.Minute},
	}
	for n := range s.Instances {
		s.Instances[n].Class, s.Instances[n].InstanceDigest = f.Class.ID(), f.InstanceDigest()
		s.Instances[n].Scheduling = fleet.Scheduling{Scheduler: f.Scheduler, Ref: "r"}
	}
	return s
}

// asking is a moment at which jobs of a kind wait.
func asking(jobs int, os string) snapshot.Observations {
	m := observing()
	m.Demand = map[fleet.SchedulerAddress]snapshot.Demand{
		"forgeyard.ci": {Snapshot: fleet.CapacityDemandSnapshot{Queued: []fleet.QueuedDemand{
			{
				Requirement: fleet.SchedulingRequirementSet{
					OS: os,
				},
				Resources:  fleet.ResourceCapacity{CPUMilli: 1000},
				Count:      jobs,
				Admissible: jobs,
			},
		}}},
	}
	return m
}

func TestAFleetSaysWhatItsSchedulerWantsInVain(t *testing.T) {
	got := Fleets(with(following(), asking(5, "linux")))[0]
	if len(got.Unplaced) != 1 || !reason.Is[reason.NoCapacityNow](got.Unplaced[0].Reason) || got.Unplaced[0].Count != 3 ||
		got.Health != CapacityConstrained ||
		!slices.Contains(
			got.Reasons,
			reason.Of(reason.DemandUnmet{Jobs: 3, Because: reason.Of(reason.LimitedByMax{Max: 2})}),
		) {
		t.Errorf("beyond max: %s because of %q, unplaced %+v", got.Health, got.Reasons, got.Unplaced)
	}
	got = Fleets(with(following(), asking(1, "windows")))[0]
	if len(got.Unplaced) != 1 || !reason.Is[reason.NoEligibleFleet](got.Unplaced[0].Reason) || got.Health != Healthy ||
		!slices.Contains(got.Reasons, got.Unplaced[0].Reason) {
		t.Errorf("what no fleet can run: %s because of %q, unplaced %+v", got.Health, got.Reasons, got.Unplaced)
	}
}

func TestASchedulerThatCannotBeSeenIsToldWithItsReason(t *testing.T) {
	m := observing()
	m.Demand = map[fleet.SchedulerAddress]snapshot.Demand{
		"forgeyard.ci": {Unobserved: reason.Of(reason.SchedulerError{Message: "connection refused"})},
	}
	got := Fleets(with(following(fleet.Healthy), m))[0]
	if got.Unseen != reason.Of(
		reason.SchedulerUnreachable{
			Scheduler: "forgeyard.ci",
			Because:   reason.Of(reason.SchedulerError{Message: "connection refused"}),
		},
	) ||
		got.Health != CapacityConstrained ||
		got.Desired != 1 ||
		!slices.Contains(got.Reasons, reason.Of(reason.DemandUnknown{Because: got.Unseen})) {
		t.Errorf("%s, %d wanted, because of %q", got.Health, got.Desired, got.Reasons)
	}
}

func TestAFleetThatIsIdleForAMomentIsHealthyAndSaysUntilWhen(t *testing.T) {
	m := asking(0, "linux")
	m.Usage = map[fleet.CapacityInstanceID]snapshot.Usage{"a": {IdleSince: now.Add(-20 * time.Second)}}
	s := following(fleet.Healthy)
	got := Fleets(with(s, m))[0]
	if got.Health != Healthy || len(got.Reasons) > 0 || len(got.Waiting) != 1 ||
		!reason.Is[reason.IdleGrace](got.Waiting[0]) ||
		!got.Next.Equal(now.Add(40*time.Second)) {
		t.Errorf("%s because of %q, waits for %+v until %s", got.Health, got.Reasons, got.Waiting, got.Next)
	}
	m.Usage["a"] = snapshot.Usage{IdleSince: now.Add(-2 * time.Minute)}
	m.Scaled = map[fleet.RunnerFleetID]time.Time{"f1": now.Add(-time.Second)}
	if got := Fleets(with(s, m))[0]; got.Health != Healthy || len(got.Waiting) != 1 ||
		!reason.Is[reason.Cooldown](got.Waiting[0]) {
		t.Errorf("after it grew: %s, waits for %+v", got.Health, got.Waiting)
	}
	one := Instances(with(s, m))[0].Scheduling
	if one == nil || one.Leases == nil || *one.Leases != 0 || !one.IdleSince.Equal(now.Add(-2*time.Minute)) {
		t.Errorf("the instance shows %+v of its scheduler", one)
	}
}

func TestSilenceIsNotCountedWhileNobodyCouldHear(t *testing.T) {
	s := state(fleet.Healthy, fleet.Healthy)
	s.Runners[0].LastBeat = now.Add(-24 * time.Hour)
	m := observing()
	m.Since = time.Time{} // no manager is running
	if got := Fleets(with(s, m))[0]; got.Counts.Ready != 2 || got.Health != Healthy {
		t.Errorf("without a manager: %d ready, %s", got.Counts.Ready, got.Health)
	}
}

func TestAFleetShowsItsNumbersAndTheirReasons(t *testing.T) {
	got := Fleets(with(state(fleet.Healthy, fleet.Draining), observing()))[0]
	if got.Desired != 2 || got.Min != 2 || got.Max != 3 || got.Counts.Footprint != 2 || got.Counts.Capacity != 1 {
		t.Errorf("numbers: %+v", got)
	}
	names := []string{}
	for _, b := range got.Bounds {
		names = append(names, b.Name)
	}
	if diff := cmp.Diff([]string{"demand", "min"}, names); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
}

func TestInstancesAreSortedAndKeepNoSecrets(t *testing.T) {
	s := state(fleet.Healthy, fleet.Draining)
	s.Instances[0].Created, s.Instances[1].Created = now, now.Add(-time.Hour)
	s.Operations = []fleet.Operation{
		{
			ID:        "ka",
			Instance:  "a",
			Kind:      fleet.ProvisionOperation,
			State:     fleet.OperationSucceeded,
			Nonce:     []byte("a nonce"),
			TokenHash: "token-hash",
		},
	}
	got := Instances(with(s, observing()))
	if got[0].ID != "b" || got[1].ID != "a" || got[1].Runner.ID != "ra" ||
		got[1].Operations[0].State != fleet.OperationSucceeded {
		t.Errorf("instances: %+v", got)
	}
	shown, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{base64.StdEncoding.EncodeToString([]byte("a nonce")), "token-hash"} {
		if strings.Contains(string(shown), secret) {
			t.Errorf("%q is shown: %s", secret, shown)
		}
	}
}
