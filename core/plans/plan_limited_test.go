package plans

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

// withToken is a submission whose scheduler's token is in a file of the manager.
func withToken(file string) Submission {
	s := submitted()
	s.Sources[0].Bytes = append(s.Sources[0].Bytes, `
scheduler "forgeyard" "main" {
  url   = "https://queue.example"
  token = secret("file:`+file+`")
}
`...)
	return s
}

// The manager reads files with its own rights: anyone who may plan learns of each
// whether it is there, its mode, and sometimes what is in it.
func TestATokenThatMayOnlyReadLearnsNothingOfTheManagersFiles(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, []byte("pin42"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, who := range []access.Caller{
		{Name: "reader",
			Permissions: []access.Permission{access.ReadFleets, access.ScaleFleets, access.DrainFleets, access.FreezeFleets,
				access.ManageImages, access.ManageReservations}},
		{Name: "limited", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.demo"}},
	} {
		answers := map[string]bool{}
		for _, file := range []string{there, there + "-not"} {
			_, err := m.Plan(as(t, who), withToken(file))
			if _, denied := errors.AsType[*access.DeniedError](err); !denied {
				t.Errorf("%s plans %s: %v", who.Name, file, err)
			}
			answers[err.Error()] = true
			_, err = m.Apply(as(t, who), withToken(file), Approval{Format: Format})
			if _, denied := errors.AsType[*access.DeniedError](err); !denied {
				t.Errorf("%s applies %s: %v", who.Name, file, err)
			}
		}
		if len(answers) != 1 {
			t.Errorf("%s tells a file that is there from one that isn't: %v", who.Name, answers)
		}
	}
	if _, err := m.Plan(
		as(t, access.LocalUser("ada")),
		withToken(there+"-not"),
	); err == nil ||
		!strings.Contains(err.Error(), there+"-not") {
		t.Errorf("who may manage isn't told of a file that is missing: %v", err)
	}
}

// Blocks as they were applied are no news to anybody.
func TestALimitedTokenPlansWithTheProvidersThatWereApplied(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("a-token-of-a-queue"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := as(t, access.LocalUser("ada"))
	p, err := m.Plan(all, withToken(token))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Apply(all, withToken(token), p.Approval); err != nil {
		t.Fatal(err)
	}
	limited := as(
		t,
		access.Caller{Name: "limited", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.demo"}},
	)
	if _, err := m.Plan(limited, withToken(token)); err != nil {
		t.Errorf("with what was applied: %v", err)
	}
	if _, err := m.Plan(
		limited,
		withToken(token+"-other"),
	); err == nil ||
		!strings.Contains(err.Error(), "may not plan scheduler.forgeyard.main") {
		t.Errorf("with another file: %v", err)
	}
}

func TestALimitedTokensPlanShowsNoOtherFleet(t *testing.T) {
	p := Plan{
		Changes: []config.Change{
			{Action: config.Drift, Address: "fleet.a"},
			{Action: config.Drift, Address: "fleet.b"},
			{Action: config.Drift, Address: "provider.local.here"},
		},
		Preview: planner.Output{Fleets: []planner.FleetPlan{{Address: "fleet.a"}, {Address: "fleet.b"}}},
	}
	seen := p.visibleTo(access.Caller{Fleets: []fleet.FleetAddress{"fleet.b"}})
	if len(seen.Changes) != 1 || seen.Changes[0].Address != "fleet.b" || len(seen.Preview.Fleets) != 1 ||
		seen.Preview.Fleets[0].Address != "fleet.b" {
		t.Errorf("it shows %+v, %+v", seen.Changes, seen.Preview.Fleets)
	}
	if all := p.visibleTo(
		access.LocalUser("ada"),
	); len(all.Changes) != 3 || len(all.Preview.Fleets) != 2 ||
		len(p.Changes) != 3 {
		t.Error("others see less than everything")
	}
}

func TestLimitedPlanShowsNoAccountsNorOthersReservations(t *testing.T) {
	p := Plan{Accounts: map[fleet.ProviderAddress]string{"cloud.a": "123"}}
	for _, of := range []fleet.FleetAddress{"fleet.a", "fleet.b", ""} {
		p.Preview.Reservations = append(
			p.Preview.Reservations,
			planner.ReservationPlan{CapacityReservation: fleet.CapacityReservation{Fleet: of}},
		)
	}
	seen := p.visibleTo(access.Caller{Fleets: []fleet.FleetAddress{"fleet.b"}})
	if len(seen.Accounts) > 0 || len(seen.Preview.Reservations) != 1 || seen.Preview.Reservations[0].Fleet != "fleet.b" {
		t.Errorf("it shows %v and %+v", seen.Accounts, seen.Preview.Reservations)
	}
	if len(p.Accounts) != 1 || len(p.Preview.Reservations) != 3 {
		t.Errorf("others see less than everything: %+v", p)
	}
}

func TestLimitedPlanShowsTheOrphansOfItsFleets(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	all := as(t, access.LocalUser("ada"))
	p, err := m.Plan(all, submitted())
	if err == nil {
		_, err = m.Apply(all, submitted(), p.Approval)
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := fleet.Unrecorded{
		Orphans:   1,
		Foreign:   1,
		Resources: []fleet.UnrecordedResource{{ID: "vm-1", Fleet: "fleet.demo"}, {ID: "vm-2"}},
	}
	m.now.Observed = func() snapshot.Observations {
		return snapshot.Observations{Unrecorded: map[fleet.ProviderAddress]fleet.Unrecorded{"local.here": seen}}
	}
	for name, want := range map[string]int{"fleet.demo": 1, "fleet.other": 0} {
		limited := access.Caller{Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{fleet.FleetAddress(name)}}
		if p, err := m.Plan(as(t, limited), submitted()); err != nil || len(p.Unrecorded) != want {
			t.Errorf("limited to %s: %+v, %v", name, p.Unrecorded, err)
		}
	}
}
