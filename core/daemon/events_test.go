package daemon

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

// eventful is an installation in which something of each kind happened to the
// fleets a and b, and two people did something.
func eventful(t *testing.T) *Daemon {
	t.Helper()
	m := open(t, workspacetest.Options(t))
	t.Cleanup(func() { _ = m.Close() })
	at := func(second int) time.Time { return time.Unix(int64(second), 0).UTC() }
	var rows []fleet.ManagedFleet
	var change store.Change
	for n, name := range []string{"a", "b"} {
		f := fleet.ManagedFleet{
			ID:          fleet.RunnerFleetID("f" + name),
			RunnerFleet: fleet.RunnerFleet{Address: fleet.FleetAddress("fleet." + name)},
			Operational: fleet.FleetActive,
		}
		rows = append(rows, f)
		i := fleet.CapacityInstance{
			ID:     fleet.CapacityInstanceID("i" + name),
			Key:    fleet.OperationID("o" + name),
			Fleet:  f.ID,
			State:  fleet.Healthy,
			Since:  at(30 + n),
			Reason: reason.Plain("All checks passed."),
		}
		change.Instances = append(change.Instances, i)
		change.Decisions = append(
			change.Decisions,
			fleet.Decision{
				ID:     "d" + name,
				Fleet:  f.ID,
				At:     at(10 + n),
				Kind:   fleet.ScaleUp,
				Add:    1,
				Reason: reason.Plain("1 wanted."),
			},
		)
		change.Operations = append(
			change.Operations,
			fleet.Operation{
				ID:       i.Key,
				Kind:     fleet.ProvisionOperation,
				Instance: i.ID,
				Fleet:    f.ID,
				Provider: "local.here",
				State:    fleet.OperationSucceeded,
				Attempts: 1,
				CallOver: at(20 + n),
				Request:  []byte("{}"),
			},
			fleet.Operation{
				ID:       i.Key + "2",
				Kind:     fleet.TerminateOperation,
				Instance: i.ID,
				Fleet:    f.ID,
				Provider: "local.here",
				State:    fleet.OperationInProgress,
				Request:  []byte("{}"),
			},
		)
	}
	if _, err := m.store.ApplyDefinition(
		t.Context(),
		store.Apply{Definition: fleet.Definition{Installation: "demo"}, Fleets: rows, By: "a test"},
	); err != nil {
		t.Fatal(err)
	}
	if err := m.store.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	for n, who := range []string{"ada", "cyd"} {
		if err := m.store.AppendAudit(
			t.Context(),
			store.AuditRecord{ID: "u" + who, At: at(40 + n), By: who, Action: "apply", Detail: "definition 1"},
		); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestEventsAreOrderedAndLimitedToTheCaller(t *testing.T) {
	m := eventful(t)
	everything := access.LocalUser("ada")
	reader := access.Caller{Name: "bob", Permissions: []access.Permission{access.ReadFleets}}
	limited := access.Caller{Name: "cyd", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.b"}}
	for _, tt := range []struct {
		name   string
		caller access.Caller
		query  query.EventFilter
		want   string
	}{
		{"everything", everything, query.EventFilter{}, "da db oa ob ia ib uada ucyd"},
		{"a fleet by its name", everything, query.EventFilter{Fleet: "a"}, "da oa ia"},
		{"a fleet by its address", everything, query.EventFilter{Fleet: "fleet.b"}, "db ob ib"},
		{"a fleet that isn't there", everything, query.EventFilter{Fleet: "c"}, ""},
		{"the newest three", everything, query.EventFilter{Limit: 3}, "ib uada ucyd"},
		{"since a time", everything, query.EventFilter{Since: time.Unix(31, 0)}, "ib uada ucyd"},
		{"who may only read hears of no one's doings", reader, query.EventFilter{}, "da db oa ob ia ib"},
		{"who is limited hears of their fleets and their own doings", limited, query.EventFilter{}, "db ob ib ucyd"},
		{"who is limited hears nothing of another fleet", limited, query.EventFilter{Fleet: "a"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events, err := m.Events(as(t, tt.caller), tt.query)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, e := range events {
				ids = append(ids, e.ID)
			}
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	events, err := m.Events(as(t, everything), query.EventFilter{Fleet: "a"})
	if err != nil {
		t.Fatal(err)
	}
	want := []query.Event{
		{
			At:     time.Unix(10, 0).UTC(),
			Kind:   query.DecisionEvent,
			ID:     "da",
			Fleet:  "fleet.a",
			What:   "scale_up by 1",
			Text:   "1 wanted",
			Reason: reason.Plain("1 wanted."),
		},
		{
			At:       time.Unix(20, 0).UTC(),
			Kind:     query.OperationEvent,
			ID:       "oa",
			Fleet:    "fleet.a",
			Instance: "ia",
			What:     "provision succeeded",
			Text:     "provider.local.here, call 1.",
		},
		{
			At:       time.Unix(30, 0).UTC(),
			Kind:     query.MoveEvent,
			ID:       "ia",
			Fleet:    "fleet.a",
			Instance: "ia",
			What:     "healthy",
			Text:     "All checks passed",
			Reason:   reason.Plain("All checks passed."),
		},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if _, err := m.Events(
		as(t, access.Caller{Name: "nobody"}),
		query.EventFilter{},
	); err == nil ||
		!strings.Contains(err.Error(), "fleet.read") {
		t.Errorf("who may nothing hears %v", err)
	}
}

func TestAnswersWithManyEventsAreBounded(t *testing.T) {
	m := eventful(t)
	var change store.Change
	for n := range 1500 {
		change.Decisions = append(
			change.Decisions,
			fleet.Decision{ID: fmt.Sprintf("x%04d", n), Fleet: "fa", At: time.Unix(int64(100+n), 0).UTC(), Kind: fleet.ScaleUp},
		)
	}
	if err := m.store.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]int{0: 100, 7: 7, 5000: 1000} {
		events, err := m.Events(as(t, access.LocalUser("ada")), query.EventFilter{Limit: limit})
		if err != nil || len(events) != want || events[len(events)-1].ID != "x1499" {
			t.Errorf("limit %d: %d events, error %v", limit, len(events), err)
		}
	}
}

// The refused calls of a host that can't enroll were once left out where people
// look for them.
func TestASingleInstanceIsShownWithItsOwnRefusedCalls(t *testing.T) {
	m := eventful(t)
	m.Queries = query.New(
		m.store,
		query.Present{Clock: m.options.Clock, Observed: m.observed},
		func() []fleet.Refusal { return []fleet.Refusal{{Instance: "ia"}, {Instance: "ib"}} },
	)
	one, err := m.Instance(as(t, access.LocalUser("ada")), "ia")
	if err != nil || len(one.Refusals) != 1 || one.Refusals[0].Instance != "ia" {
		t.Errorf("it is shown with %+v, error %v", one.Refusals, err)
	}
}

func TestLimitedTokenSeesRefusalsAndFleetsOfItsOwn(t *testing.T) {
	m := eventful(t)
	refused := func() []fleet.Refusal { return []fleet.Refusal{{Instance: "ia"}, {Instance: "ib"}, {}} }
	m.Queries = query.New(m.store, query.Present{Clock: m.options.Clock, Observed: m.observed}, refused)
	limited := as(
		t,
		access.Caller{Name: "cyd", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.b"}},
	)
	if got, err := m.Refusals(limited); err != nil || len(got) != 1 || got[0].Instance != "ib" {
		t.Errorf("refusals %+v, error %v", got, err)
	}
	if got, err := m.Fleets(limited); err != nil || len(got) != 1 || got[0].Address != "fleet.b" {
		t.Errorf("fleets %+v, error %v", got, err)
	}
	if got, err := m.Instances(limited); err != nil || len(got) != 1 || got[0].ID != "ib" {
		t.Errorf("instances %+v, error %v", got, err)
	}
	if got, err := m.Decisions(limited, "fleet.a", 10); !errors.As(err, new(*access.NotFoundError)) {
		t.Errorf("another fleet's decisions %+v, error %v", got, err)
	}
	if got, err := m.Refusals(as(t, access.LocalUser("ada"))); err != nil || len(got) != 3 {
		t.Errorf("who isn't limited sees the refusals %+v, error %v", got, err)
	}
}

func TestLimitedTokenSeesTheImagesOfItsFleets(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	images, err := m.Images(
		as(t, access.Caller{Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.other"}}),
	)
	if err != nil || len(images) != 1 || len(images[0].Fleets) != 1 || images[0].Fleets[0].Fleet != "fleet.other" {
		t.Errorf("images %+v, error %v", images, err)
	}
}

func TestLimitedTokenSeesNoOtherFleetNearItsJobs(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	t.Cleanup(func() { _ = m.Close() })
	f := fleet.ManagedFleet{
		ID:          "fa",
		Operational: fleet.FleetActive,
		RunnerFleet: fleet.RunnerFleet{Address: "fleet.a", Scheduler: "forgeyard.ci"},
	}
	f.Class.Platform.OS = "linux"
	other := f
	other.ID, other.Address = "fb", "fleet.b"
	if _, err := m.store.ApplyDefinition(
		t.Context(),
		store.Apply{Definition: fleet.Definition{Installation: "demo"}, Fleets: []fleet.ManagedFleet{f, other}},
	); err != nil {
		t.Fatal(err)
	}
	jobs := []fleet.QueuedDemand{{Requirement: fleet.SchedulingRequirementSet{OS: "windows"}, Count: 1, Admissible: 1}}
	m.observed = func() snapshot.Observations {
		return snapshot.Observations{
			Demand: map[fleet.SchedulerAddress]snapshot.Demand{
				"forgeyard.ci": {Snapshot: fleet.CapacityDemandSnapshot{Queued: jobs}},
			},
		}
	}
	for _, test := range []struct {
		caller access.Caller
		want   int
	}{{access.LocalUser("ada"), 2},
		{access.Caller{Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.a"}}, 1}} {
		fleets, err := m.Fleets(as(t, test.caller))
		if err != nil || len(fleets[0].Unplaced) != 1 || len(fleets[0].Unplaced[0].Nearest) != test.want {
			t.Errorf("limited to %v: %+v, error %v", test.caller.Fleets, fleets, err)
		}
	}
}
