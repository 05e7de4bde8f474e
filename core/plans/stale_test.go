package plans

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

func TestAStalePlanNamesWhoAppliedWhatAndWhen(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 20, 30, 0, time.UTC)
	err := &StaleError{
		By: "ada", At: at, Serial: 7, Reason: "the plan was made from definition 6",
		Changes: []config.Change{
			{
				Action:     config.Modify,
				Address:    "fleet.linux",
				Attributes: []config.AttributeChange{{Path: "capacity.max", Old: "3", New: "5"}},
			},
			{Action: config.Create, Address: "fleet.mac"},
			{Action: config.Drift, Address: "fleet.other"},
		},
	}
	want := "the plan is stale: the plan was made from definition 6; ada applied definition 7 at 2026-05-04 10:20 UTC, " +
		"with change fleet.linux (capacity.max), create fleet.mac. Plan again"
	if got := err.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAStalePlanOfManyChangesStaysOneSentence(t *testing.T) {
	err := &StaleError{By: "ada", Serial: 2}
	for range 100 {
		err.Changes = append(err.Changes, config.Change{Action: config.Create, Address: "fleet.linux"})
	}
	if got := err.Error(); strings.Count(got, "fleet.linux") != shownChanges || !strings.Contains(got, ", more") {
		t.Errorf("got %s", got)
	}
}

func TestAPlanThatIsStaleWithoutAnApplySaysWhatDiffers(t *testing.T) {
	err := &StaleError{Serial: 2, Reason: "the plugin lock is another one"}
	if got, want := err.Error(), "the plan is stale: the plugin lock is another one. Plan again"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestALimitedCallerTakesNoFleetOverAndIsShownNoOther(t *testing.T) {
	caller := access.Caller{Name: "ci", Fleets: []fleet.FleetAddress{"fleet.demo"}}
	p := Plan{
		Changes: []config.Change{{Action: config.Modify, Address: `fleet.demo["a"]`, MovedFrom: "fleet.other"}},
		Preview: planner.Output{
			Fleets:   []planner.FleetPlan{{Address: "fleet.demo"}, {Address: "fleet.other"}},
			Unplaced: []planner.UnplacedDemand{{Count: 1}},
		},
	}
	var denied *access.DeniedError
	if err := p.allowedTo(caller); !errors.As(err, &denied) || denied.Fleet != "fleet.other" {
		t.Errorf("moving another fleet under an own name: %v", err)
	}
	if p = p.visibleTo(
		caller,
	); len(p.Preview.Fleets) != 1 || p.Preview.Fleets[0].Address != "fleet.demo" ||
		len(p.Preview.Unplaced) != 0 {
		t.Errorf("the preview shows %+v", p.Preview)
	}
}

func TestStalePlanTellsALimitedCallerOfTheirFleetsOnly(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	one, two := fleet.RunnerFleet{Address: "fleet.one"}, fleet.RunnerFleet{Address: "fleet.two"}
	for serial, fleets := range [][]fleet.RunnerFleet{nil, {one, two}} {
		d := fleet.Definition{Installation: "demo", Fleets: fleets}
		if _, err := m.ApplyDefinition(
			t.Context(),
			store.Apply{Expect: int64(serial), Definition: d, By: "ada"},
		); err != nil {
			t.Fatal(err)
		}
	}
	approved := Approval{Serial: 1, Fleets: map[fleet.FleetAddress]int64{"fleet.two": 0}}
	for limit, want := range map[fleet.FleetAddress]string{"fleet.one": "fleet.one", "fleet.two": "fleet.two",
		"fleet.none": ""} {
		var told []string
		stale := m.stale(as(t, access.Caller{Fleets: []fleet.FleetAddress{limit}}), approved, Plan{}, "it differs")
		if e, ok := errors.AsType[*StaleError](stale); ok && e.By == "ada" {
			for _, c := range e.Changes {
				told = append(told, c.Address)
			}
		}
		if got := strings.Join(told, " "); got != want {
			t.Errorf("limited to %s: told of %q, want %q", limit, got, want)
		}
	}
}
