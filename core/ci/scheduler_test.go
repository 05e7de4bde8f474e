package ci

import (
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

const listing, sums = fleet.SchedulerAddress("forgeyard.ci"), fleet.SchedulerAddress("reviewos.ci")

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func shows(revision int64, running ...fleet.RunningCapacityUsage) Observation {
	return Observation{
		Snapshot: fleet.CapacityDemandSnapshot{Revision: revision, ObservedAt: noon, Running: running},
		Lists:    true,
	}
}

// observed is a scheduler that showed this.
func observed(t *testing.T, o Observation) *Scheduler {
	t.Helper()
	s := NewScheduler()
	if s.Observe(o, 0, noon, noon, 1) {
		t.Fatal("the first observation went back")
	}
	return s
}

func TestRevisionThatGoesBackVoidsAcknowledgements(t *testing.T) {
	s := observed(t, shows(7))
	if !s.Observe(shows(3), 7, noon, noon, 2) || !reason.Is[reason.RevisionWentBack](s.Unobservable) {
		t.Errorf("unobservable %q", s.Unobservable)
	}
	if s.Observe(shows(4), 0, noon, noon, 3) || !s.Unobservable.IsZero() {
		t.Errorf("the next observation doesn't count: %q", s.Unobservable)
	}
	// It acknowledged 9 to an earlier process, and a list may lag.
	for _, after := range []time.Duration{0, behindLimit - 1} {
		if s.Observe(shows(5), 9, noon.Add(after), noon, 4) {
			t.Errorf("a list that is %s behind counts as gone back", after)
		}
	}
	if !s.Observe(shows(5), 9, noon.Add(behindLimit), noon, 5) {
		t.Errorf("%s behind is still taken for a list that lags", behindLimit)
	}
}

func TestLeaseFreeNeedsTheCordonAndWhatCameAfterIt(t *testing.T) {
	cordoned := fleet.Scheduling{Scheduler: listing, Ref: "i1", Cordoned: true, Since: 5}
	for name, test := range map[string]struct {
		s    *Scheduler
		at   fleet.Scheduling
		want bool
	}{
		"never told":      {nil, fleet.Scheduling{}, true},
		"removed":         {nil, fleet.Scheduling{Scheduler: listing, Removed: true}, true},
		"not cordoned":    {observed(t, shows(9)), fleet.Scheduling{Scheduler: listing}, false},
		"never observed":  {nil, cordoned, false},
		"observed before": {observed(t, shows(4)), cordoned, false},
		"not listed":      {observed(t, shows(5)), cordoned, true},
		"shown with a lease": {
			observed(t, shows(5, fleet.RunningCapacityUsage{Runner: "i1", Leases: 1, Cordoned: true})), cordoned, false},
		"shown without the cordon": {observed(t, shows(5, fleet.RunningCapacityUsage{Runner: "i1"})), cordoned, false},
		"shown idle": {observed(t, shows(5, fleet.RunningCapacityUsage{Runner: "i1", Cordoned: true})),
			cordoned, true},
		"lists none": {observed(t, Observation{}), cordoned, true},
	} {
		if proof, got := test.s.LeaseFree(&fleet.CapacityInstance{ID: "i1", Scheduling: test.at}); got != test.want {
			t.Errorf("%s: %t (%s)", name, got, proof)
		}
	}
}

func TestNextCallSaysWhatTheInstanceAsksFor(t *testing.T) {
	admitted := fleet.Scheduling{Scheduler: listing, Ref: "i1"}
	idle := shows(5, fleet.RunningCapacityUsage{Runner: "i1"})
	for name, test := range map[string]struct {
		state     fleet.CapacityInstanceState
		at        fleet.Scheduling
		takesBack bool
		want      CallKind
	}{
		"healthy and new":      {state: fleet.Healthy, want: Admit},
		"healthy and admitted": {state: fleet.Healthy, at: admitted},
		"back from a drain": {state: fleet.Healthy,
			at: fleet.Scheduling{Scheduler: listing, Ref: "i1", Cordoned: true}, want: Uncordon},
		"draining":                {state: fleet.Draining, at: admitted, want: Cordon},
		"draining, never told":    {state: fleet.Draining},
		"terminating":             {state: fleet.Terminating, at: admitted, want: Remove},
		"terminating with a job":  {state: fleet.Terminating, at: admitted, takesBack: true, want: Cordon},
		"terminated and removed":  {state: fleet.Terminated, at: fleet.Scheduling{Scheduler: listing, Removed: true}},
		"terminated, not removed": {state: fleet.Terminated, at: admitted, want: Remove},
	} {
		i := &fleet.CapacityInstance{
			ID:         "i1",
			State:      test.state,
			Scheduling: test.at,
			Ended:      string(lifecycle.IdleProven),
		}
		c, wanted := NextCall(
			listing,
			observed(t, idle),
			&Runner{Connected: true},
			Subject{Instance: i, Fleet: &fleet.ManagedFleet{}, TakesBack: test.takesBack},
			noon,
		)
		if !wanted {
			c.Kind = ""
		}
		if c.Kind != test.want || c.Force != test.takesBack {
			t.Errorf("%s: %q, force %t; want %q", name, c.Kind, c.Force, test.want)
		}
	}
}

func TestRunnerWithLeasesWasLostToTheInfrastructure(t *testing.T) {
	i := &fleet.CapacityInstance{
		ID:         "i1",
		State:      fleet.Terminating,
		Ended:      string(lifecycle.IdleProven),
		Scheduling: fleet.Scheduling{Scheduler: listing, Ref: "i1"},
	}
	for leases, want := range map[int]scheduler.RemovalReason{0: scheduler.RemovedNormally,
		1: scheduler.RemovedInfrastructure} {
		c, _ := NextCall(
			listing,
			nil,
			&Runner{},
			Subject{Instance: i, Fleet: &fleet.ManagedFleet{}, Leases: leases},
			noon,
		)
		if c.Reason != want {
			t.Errorf("%d leases: %s, want %s", leases, c.Reason, want)
		}
	}
}

func TestAdmissionWithoutAnAnswerIsTriedTwiceAtMost(t *testing.T) {
	var m Runner
	i := &fleet.CapacityInstance{ID: "i1", State: fleet.Healthy}
	s := observed(t, Observation{})
	x := Subject{Instance: i, Fleet: &fleet.ManagedFleet{}}
	for attempt := 1; attempt <= MaxAttempts; attempt++ {
		c, wanted := NextCall(sums, s, &m, x, noon)
		if !wanted || c.Kind != Admit {
			t.Fatalf("attempt %d: %q, wanted %t", attempt, c.Kind, wanted)
		}
		c.Runner.Attempt = attempt
		NoteAdmission(&i.Scheduling, c)
		m.Failed(&i.Scheduling, c.Answered(), noon)
		if m.NextCall.Sub(noon) < attemptAgain {
			t.Errorf("the next attempt may come after %s", m.NextCall.Sub(noon))
		}
	}
	if c, wanted := NextCall(sums, s, &m, x, noon); wanted {
		t.Errorf("a third attempt: %q", c.Kind)
	}
	unsent := Answer{Scheduler: sums, Instance: "i1", Kind: Admit, NotDone: true}
	if m.Failed(&i.Scheduling, unsent, noon); i.Scheduling.Attempts != MaxAttempts-1 {
		t.Errorf("an admission that surely had no effect counts: %d attempts", i.Scheduling.Attempts)
	}
}

func TestEndedRunnersThatAreListedAgainAreRemoved(t *testing.T) {
	s := observed(
		t,
		shows(
			5,
			fleet.RunningCapacityUsage{Runner: "i1"},
			fleet.RunningCapacityUsage{Runner: "old", Leases: 1},
			fleet.RunningCapacityUsage{Runner: "theirs"},
		),
	)
	if !s.UnsearchedObservation() {
		t.Fatal("a new observation must be searched")
	}
	var asked []fleet.CapacityInstanceID
	err := s.FindUnknown(
		map[fleet.SchedulerRunnerRef]bool{"i1": true},
		func(ids []fleet.CapacityInstanceID) ([]fleet.CapacityInstanceID, error) {
			asked = ids
			return []fleet.CapacityInstanceID{"old"}, nil
		},
	)
	if err != nil || !slices.Equal(asked, []fleet.CapacityInstanceID{"old", "theirs"}) {
		t.Fatalf("asked about %v: %v", asked, err)
	}
	free := func(fleet.CapacityInstanceID) bool { return false }
	calls := s.RemoveUnknown(listing, noon, free, 10)
	if len(calls) != 1 || calls[0].Instance != "old" || calls[0].Reason != scheduler.RemovedInfrastructure {
		t.Fatalf("calls: %+v", calls)
	}
	if calls := s.RemoveUnknown(listing, noon, free, 0); len(calls) != 0 {
		t.Errorf("calls over the limit: %+v", calls)
	}
	s.UnknownAnswered("old", false, noon)
	if calls := s.RemoveUnknown(listing, noon.Add(removeAgain-1), free, 10); len(calls) != 0 {
		t.Errorf("it is removed again at once: %+v", calls)
	}
	if calls := s.RemoveUnknown(listing, noon.Add(removeAgain), free, 10); len(calls) != 1 {
		t.Error("it is still listed and isn't removed again")
	}
}

func TestUnobservedRunnerIsNotIdle(t *testing.T) {
	never := func() time.Time { return time.Time{} }
	i := &fleet.CapacityInstance{ID: "i1", Scheduling: fleet.Scheduling{Scheduler: listing, Ref: "i1"}}
	s := observed(t, shows(5, fleet.RunningCapacityUsage{Runner: "i1"}))
	var m Runner
	if m.CountLeases(s, i, never, noon); m.IdleSince != noon {
		t.Errorf("idle since %s", m.IdleSince)
	}
	if m.CountLeases(s, i, never, noon.Add(time.Hour)); m.IdleSince != noon.Add(time.Hour) {
		t.Errorf("idle since %s, in which no one listened", m.IdleSince)
	}
	s.NotObserved("connection refused")
	if m.CountLeases(
		s,
		i,
		never,
		noon,
	); !m.IdleSince.IsZero() ||
		s.Unobservable != reason.Of(reason.SchedulerError{Message: "connection refused"}) {
		t.Errorf("idle since %s while it can't be seen", m.IdleSince)
	}
}

func TestUnknownRunnerIsRemovedAgainAfterGrowingWaits(t *testing.T) {
	s := observed(t, shows(5, fleet.RunningCapacityUsage{Runner: "old"}))
	err := s.FindUnknown(nil, func(ids []fleet.CapacityInstanceID) ([]fleet.CapacityInstanceID, error) { return ids, nil })
	if err != nil {
		t.Fatal(err)
	}
	due := func(at time.Time) bool {
		return len(s.RemoveUnknown(listing, at, func(fleet.CapacityInstanceID) bool { return false }, 10)) == 1
	}
	for _, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		s.UnknownAnswered("old", true, noon)
		if due(noon.Add(wait-1)) || !due(noon.Add(wait)) {
			t.Errorf("after a failed call it isn't due just at %s", wait)
		}
	}
	if s.MakeDue(); !due(noon) {
		t.Error("it isn't due after the clock was set back")
	}
}

// Time in which the machine slept is none in which a list lagged.
func TestSleepDoesNotCountAsFallingBehind(t *testing.T) {
	s := observed(t, shows(5))
	s.Observe(shows(5), 9, noon, noon, 2)
	woke := noon.Add(time.Hour)
	if s.Observe(shows(5), 9, woke.Add(behindLimit-1), woke, 3) {
		t.Error("a list that lagged while no one listened counts as gone back")
	}
	if !s.Observe(shows(5), 9, woke.Add(behindLimit), woke, 4) {
		t.Errorf("%s behind is still taken for a list that lags", behindLimit)
	}
}

func TestUncordonTakesBackWhatTheCordonSaid(t *testing.T) {
	var m Runner
	at := fleet.Scheduling{Scheduler: listing, Ref: "i1", Since: 3}
	m.Called(Call{Kind: Cordon, Cause: string(lifecycle.ForInterruption)})
	m.Acknowledged(&at, Answer{Scheduler: listing, Kind: Cordon, Revision: 5}, noon, 1)
	if !at.Cordoned || !at.Interrupted || at.Since != 5 {
		t.Errorf("cordoned: %+v", at)
	}
	m.Acknowledged(&at, Answer{Scheduler: listing, Kind: Uncordon, Revision: 7}, noon, 2)
	if at.Cordoned || at.Interrupted || at.Since != 7 {
		t.Errorf("uncordoned: %+v", at)
	}
}

func TestStopIsSaidAgainWhileTheProcessGoesOn(t *testing.T) {
	var m Runner
	i := &fleet.CapacityInstance{ID: "i1", State: fleet.Draining, Scheduling: fleet.Scheduling{Scheduler: sums, Ref: "r"}}
	m.Acknowledged(&i.Scheduling, Answer{Scheduler: sums, Kind: Cordon}, noon, 1)
	x := Subject{Instance: i, Fleet: &fleet.ManagedFleet{}, Agent: &fleet.Runner{}}
	for after, want := range map[time.Duration]bool{stopInterval - 1: false, stopInterval: true} {
		if c, wanted := NextCall(sums, observed(t, Observation{}), &m, x, noon.Add(after)); wanted != want {
			t.Errorf("%s after the stop: %q, wanted %t", after, c.Kind, wanted)
		}
	}
	x.Agent.Report.GroupEmpty = true
	if c, wanted := NextCall(sums, observed(t, Observation{}), &m, x, noon.Add(stopInterval)); wanted {
		t.Errorf("after the process ended: %q", c.Kind)
	}
}

func TestCredentialIsLostWhenItsProcessEndsSoonEachTime(t *testing.T) {
	for interval, want := range map[time.Duration]bool{time.Minute: true, endInterval + 1: false} {
		m := Runner{Connected: true}
		x := Subject{
			Instance: &fleet.CapacityInstance{ID: "i1", Scheduling: fleet.Scheduling{Scheduler: sums, Ref: "r"}},
			Fleet:    &fleet.ManagedFleet{}, Agent: &fleet.Runner{},
		}
		lost := false
		for n := 1; n <= maxEnds; n++ {
			if lost {
				t.Errorf("every %s: lost after %d ends", interval, n-1)
			}
			x.Agent.Report.JobsRun = n
			lost = m.LostCredential(observed(t, Observation{}), x, noon, noon.Add(time.Duration(n)*interval))
		}
		if lost != want {
			t.Errorf("every %s: lost %t, want %t", interval, lost, want)
		}
	}
}
