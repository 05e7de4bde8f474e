package plans

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// file is a definition with the fleets of the given names, min 1.
func file(names ...string) fleet.Definition {
	d := fleet.Definition{
		Installation: "demo",
		Plugins:      []fleet.PluginRequirement{{Name: "local", Version: "~> 0.1"}},
		Providers:    []fleet.Provider{{Address: "local.here", Config: []byte(`{}`)}},
	}
	for _, name := range names {
		d.Fleets = append(d.Fleets, fleet.RunnerFleet{
			Address: fleet.FleetAddress("fleet." + name), Provider: "local.here", Instance: []byte(`{}`),
			Class:   fleet.CapacityClass{Name: "c", Trust: "standard", Platform: fleet.Platform{OS: "linux", Arch: "x86_64"}},
			Scaling: fleet.ScalingPolicy{Min: 1, Max: 3}, Timeouts: fleet.DefaultTimeouts(),
		})
	}
	return d
}

// applied is a world in which plans are applied one after another.
type applied struct {
	t      *testing.T
	stored store.AppliedDefinition
	state  snapshot.State
	ids    int
	prune  bool
	// observed is what a running manager knows; zero: none runs.
	observed snapshot.Observations
}

func (a *applied) plan(d fleet.Definition) Plan {
	a.t.Helper()
	p, err := makePlan(planInput{file: d, stored: a.stored, prune: a.prune,
		Snapshot: snapshot.Snapshot{Now: now, AgentVersion: "0.1.0", State: a.state, Observations: a.observed},
		newID:    func(time.Time) (string, error) { a.ids++; return fmt.Sprintf("f%d", a.ids), nil }})
	if err != nil {
		a.t.Fatal(err)
	}
	return p
}

func (a *applied) apply(d fleet.Definition) Plan {
	a.t.Helper()
	p := a.plan(d)
	a.stored = store.AppliedDefinition{Serial: a.stored.Serial + 1, Definition: p.definition}
	for _, row := range p.rows {
		row.Serial = a.stored.Serial
		a.state.Fleets = slices.DeleteFunc(a.state.Fleets, func(f fleet.ManagedFleet) bool { return f.ID == row.ID })
		a.state.Fleets = append(a.state.Fleets, row)
	}
	return p
}

// rows are the fleets that a plan writes, in words.
func rows(p Plan) []string {
	var out []string
	for _, r := range p.rows {
		out = append(out, fmt.Sprintf("%s %s %s", r.Address, r.ID, r.Operational))
	}
	return out
}

func changes(p Plan) []string {
	var out []string
	for _, c := range p.Changes {
		if strings.HasPrefix(c.Address, "fleet.") {
			out = append(out, fmt.Sprintf("%s %s", c.Action, c.Address))
		}
	}
	return out
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestAFirstApplyCreatesAndASecondDoesNothing(t *testing.T) {
	a := &applied{t: t}
	first := a.apply(file("a", "b"))
	expect(t, "rows", rows(first), []string{"fleet.a f1 active", "fleet.b f2 active"})
	if !first.HasChanges() {
		t.Error("a first apply changes nothing")
	}
	second := a.plan(file("a", "b"))
	expect(t, "rows of the second", rows(second), nil)
	if second.HasChanges() {
		t.Errorf("a second apply changes %v", second.Changes)
	}
	if diff := cmp.Diff(first.definition, second.definition); diff != "" {
		t.Errorf("the second apply would store another definition:\n%s", diff)
	}
}

func TestWhatTheFileNoLongerMentionsRunsOnWithItsProvider(t *testing.T) {
	a := &applied{t: t}
	a.apply(file("a", "b"))
	without := file("a")
	without.Fleets[0].Provider = "other.there"
	without.Providers = []fleet.Provider{{Address: "other.there", Config: []byte(`{}`)}}
	without.Plugins = []fleet.PluginRequirement{{Name: "other"}}
	p := a.apply(without)
	expect(t, "changes", changes(p), []string{"change fleet.a", "drift fleet.b"})
	expect(t, "rows", rows(p), []string{"fleet.a f1 active"})
	var kept []string
	for _, provider := range p.definition.Providers {
		kept = append(kept, string(provider.Address))
	}
	for _, plugin := range p.definition.Plugins {
		kept = append(kept, plugin.Name)
	}
	expect(t, "kept", kept, []string{"local.here", "other.there", "local", "other"})

	again := a.plan(without)
	expect(t, "changes of the next plan", changes(again), []string{"drift fleet.b"})
	if again.HasChanges() {
		t.Error("drift alone counts as a change")
	}
}

func TestPruneTakesWhatIsNotMentionedAway(t *testing.T) {
	a := &applied{t: t}
	a.apply(file("a", "b"))
	a.prune = true
	p := a.apply(file("a"))
	expect(t, "rows", rows(p), []string{"fleet.b f2 draining"})
	expect(t, "changes", changes(p), []string{"drain fleet.b"})
}

func TestAnApprovalHoldsForWhatItTouchesAlone(t *testing.T) {
	a := &applied{t: t}
	a.apply(file("a", "b"))
	mine := file("a", "b")
	mine.Fleets[0].Scaling.Min = 2
	approved := a.plan(mine).Approval

	theirs := file("a", "b")
	theirs.Fleets[1].Scaling.Min = 3
	a.apply(theirs)
	both := file("a", "b")
	both.Fleets[0].Scaling.Min, both.Fleets[1].Scaling.Min = 2, 3
	if why := approved.differs(a.plan(both)); why != "" {
		t.Errorf("another fleet was changed meanwhile, and the plan is stale: %s", why)
	}
	if why := approved.differs(a.plan(mine)); !strings.Contains(why, "fleet.b, too") {
		t.Errorf("applying would undo what somebody did to fleet.b: %q", why)
	}
	theirs.Fleets[0].Scaling.Max = 9
	a.apply(theirs)
	if why := approved.differs(a.plan(both)); !strings.Contains(why, "fleet.a was changed") {
		t.Errorf("fleet.a was changed meanwhile: %q", why)
	}
	approved.Format = 0
	if why := approved.differs(a.plan(both)); !strings.Contains(why, "format 0") {
		t.Errorf("another format: %q", why)
	}
}

func TestARemovedBlockDrainsOnceAndForgetsLater(t *testing.T) {
	a := &applied{t: t}
	a.apply(file("a", "b"))
	a.state.Instances = []fleet.CapacityInstance{{ID: "i1", Fleet: "f2", Provider: "local.here", State: fleet.Healthy}}
	d := file("a")
	d.Removed = []fleet.FleetAddress{"fleet.b"}
	p := a.apply(d)
	expect(t, "rows", rows(p), []string{"fleet.b f2 draining"})
	expect(t, "changes", changes(p), []string{"drain fleet.b"})
	if n := len(p.Preview.Fleets[1].Actions); n != 1 {
		t.Errorf("%d instances leave, want 1", n)
	}
	expect(t, "rows while it drains", rows(a.plan(d)), nil)

	a.state.Instances, a.state.Fleets = nil, slices.DeleteFunc(
		a.state.Fleets,
		func(f fleet.ManagedFleet) bool { return f.ID == "f2" },
	)
	if gone := a.plan(d); gone.HasChanges() {
		t.Errorf("once the fleet is forgotten its removed block changes %v", changes(gone))
	}
}

func TestAFleetDeclaredAgainWhileItDrainsKeepsItsIdentity(t *testing.T) {
	a := &applied{t: t}
	a.apply(file("a"))
	d := file()
	d.Removed = []fleet.FleetAddress{"fleet.a"}
	a.apply(d)
	expect(t, "rows", rows(a.apply(file("a"))), []string{"fleet.a f1 active"})
}

func TestAChangedFileChangesOnlyItsFleet(t *testing.T) {
	a := &applied{t: t}
	a.apply(file("a", "b"))
	d := file("a", "b")
	d.Fleets[1].Scaling.Min = 2
	p := a.plan(d)
	expect(t, "changes", changes(p), []string{"change fleet.b"})
	expect(t, "rows", rows(p), []string{"fleet.b f2 active"})
	want := []config.AttributeChange{{Path: "scaling.min", Old: "1", New: "2"}}
	if diff := cmp.Diff(want, p.Changes[0].Attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

func TestOutdatedInstancesAreAChange(t *testing.T) {
	a := &applied{t: t}
	a.apply(file("a"))
	f := a.state.Fleets[0]
	a.state.Instances = []fleet.CapacityInstance{{ID: "i1", Fleet: f.ID, Provider: "local.here", State: fleet.Healthy,
		Class: f.Class.ID(), Image: f.Image.ID("0.0.9"), InstanceDigest: f.InstanceDigest()}}
	if p := a.plan(file("a")); !p.HasChanges() || len(p.Preview.Fleets[0].Drifted) != 1 {
		t.Errorf("an instance with an older agent isn't in the plan: %+v", p.Preview)
	}
}

// A pipeline that asks whether the files would change something must not hear of
// hosts that come and go with the jobs.
func TestHostsThatComeAndGoWithDemandAreNoChangeOfThePlan(t *testing.T) {
	leaves := []planner.Action{{Kind: planner.Drain, Instance: "a"}}
	for name, tt := range map[string]struct {
		fleet planner.FleetPlan
		want  bool
	}{
		"a fleet that follows demand lets a host go": {planner.FleetPlan{Follows: true, Actions: leaves}, false},
		"it has an outdated one": {
			planner.FleetPlan{Follows: true, Drifted: []planner.Drift{{Instance: "a"}}}, true},
		"a fleet of a fixed size lets a host go": {planner.FleetPlan{Actions: leaves}, true},
	} {
		p := Plan{Preview: planner.Output{Fleets: []planner.FleetPlan{tt.fleet}}}
		if p.HasChanges() != tt.want {
			t.Errorf("%s: changes %t", name, !tt.want)
		}
	}
}

func TestAPlanSaysInWhichAccountItsProvidersAct(t *testing.T) {
	a := &applied{t: t}
	d := file("one")
	if p := a.apply(d); len(p.Accounts) != 0 {
		t.Errorf("no one has asked the provider yet, and the plan says %v", p.Accounts)
	}
	of := func(account string, created time.Time, state fleet.CapacityInstanceState) fleet.CapacityInstance {
		return fleet.CapacityInstance{
			ID:       fleet.CapacityInstanceID(account),
			Fleet:    "f1",
			Provider: "local.here",
			Account:  account,
			Created:  created,
			State:    state,
		}
	}
	a.state.Instances = []fleet.CapacityInstance{
		of(
			"older",
			now.Add(-time.Hour),
			fleet.Healthy,
		),
		of("newer", now.Add(-time.Minute), fleet.Healthy),
		of("ended", now, fleet.Terminated),
	}
	if got := a.plan(d).Accounts["local.here"]; got != "newer" {
		t.Errorf("no manager runs, and the account is %q", got)
	}
	a.observed = snapshot.Observations{
		Since:    now,
		Accounts: map[fleet.ProviderAddress]string{"local.here": "found", "local.gone": "other"},
	}
	p := a.plan(d)
	if got := p.Accounts; len(got) != 1 || got["local.here"] != "found" {
		t.Errorf("a manager runs, and the accounts are %v", got)
	}
	if hidden := p.visibleTo(access.Caller{Fleets: []fleet.FleetAddress{"fleet.one"}}); hidden.Accounts != nil {
		t.Errorf("a caller who is limited to a fleet sees %v", hidden.Accounts)
	}
}
