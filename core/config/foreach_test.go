package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// teams is a block of fleets. Each is what for_each is.
func teams(each string) string {
	return `
fleet "team" {
  for_each       = ` + each + `
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scaling {
    min = 1
    max = try(each.value.most, 2)
  }

  runner {
    command = ["work", each.key]
  }
}
`
}

func TestForEachMakesFleetPerKey(t *testing.T) {
	for name, one := range map[string]struct {
		each string
		want []string
	}{
		"a map": {`{ web = { most = 5 }, docs = { most = 7 } }`,
			[]string{`fleet.team["docs"] 7 work docs`, `fleet.team["web"] 5 work web`}},
		"a set": {`toset(["web", "docs", "web"])`,
			[]string{`fleet.team["docs"] 2 work docs`, `fleet.team["web"] 2 work web`}},
		"a map of types": {`{ A = 1, "b.c" = "x" }`, []string{`fleet.team["A"] 2 work A`, `fleet.team["b.c"] 2 work b.c`}},
		"a computed map": {`{ for name in ["x", "y"] : "${name}1" => { most = 9 } }`,
			[]string{`fleet.team["x1"] 9 work x1`, `fleet.team["y1"] 9 work y1`}},
		"an empty map": {`{}`, nil},
		"an empty set": {`toset([])`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range mustLoad(t, teams(one.each), config.Variables{}).Definition.Fleets {
				if f.Address.Block() == "team" {
					got = append(got, fmt.Sprintf("%s %d %s", f.Address, f.Scaling.Max, strings.Join(f.Runner.Command, " ")))
				}
			}
			if difference := cmp.Diff(one.want, got); difference != "" {
				t.Error(difference)
			}
		})
	}
}

func TestDiffNamesForEachFleets(t *testing.T) {
	old := mustLoad(t, teams(`{ web = { most = 5 }, docs = { most = 7 } }`), config.Variables{}).Definition
	changes := config.Diff(
		old,
		mustLoad(
			t,
			teams(`{ web = { most = 6 }, api = { most = 7 } }`)+"\nremoved {\n  from = fleet.team[\"docs\"]\n}\n",
			config.Variables{},
		).Definition,
	)
	var got []string
	for _, change := range changes {
		got = append(got, fmt.Sprintf("%s %s", change.Action, change.Address))
	}
	if want := []string{
		`create fleet.team["api"]`,
		`drain fleet.team["docs"]`,
		`change fleet.team["web"]`,
	}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPluginDiagnosticOfForEachFleetHasLine(t *testing.T) {
	loaded := mustLoad(t, teams(`toset(["web"])`), config.Variables{})
	found := loaded.InstanceDiagnostics(`fleet.team["web"]`, []fleet.PluginDiagnostic{{Summary: "no"}})
	if len(found) != 1 || found[0].Range.File != "main.hcl" || found[0].Range.Line != 2 {
		t.Errorf("%+v", found)
	}
}

func moves(pairs ...string) string {
	var text strings.Builder
	for _, pair := range pairs {
		from, to, _ := strings.Cut(pair, " ")
		fmt.Fprintf(&text, "\nmoved {\n  from = fleet.%s\n  to   = fleet.%s\n}\n", from, to)
	}
	return text.String()
}

func TestMovedFleetKeepsInstances(t *testing.T) {
	renamed := func(name string) string { return strings.Replace(diffFleet, `fleet "x"`, `fleet "`+name+`"`, 1) }
	old := mustLoad(t, diffFleet, config.Variables{}).Definition
	got := config.Diff(old, mustLoad(t, renamed("y")+moves("x y"), config.Variables{}).Definition)
	want := []config.Change{{Action: config.Modify, Address: "fleet.y", MovedFrom: "fleet.x",
		Attributes: []config.AttributeChange{{Path: "address", Old: "fleet.x", New: "fleet.y"}}}}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
	changed := strings.Replace(renamed("y"), `types   = ["m1"]`, `types   = ["m2"]`, 1)
	got = config.Diff(old, mustLoad(t, changed+moves("x y"), config.Variables{}).Definition)
	if len(got) != 1 || !got[0].ReplacesInstances || got[0].MovedFrom != "fleet.x" || len(got[0].Attributes) != 2 {
		t.Errorf("moved and changed: %+v", got)
	}
	applied := mustLoad(t, renamed("y")+moves("x y"), config.Variables{}).Definition
	if got := config.Diff(applied, applied); len(got) != 0 {
		t.Errorf("the second time: %+v", got)
	}
	if got := config.Diff(
		fleet.Definition{},
		applied,
	); slices.ContainsFunc(
		got,
		func(c config.Change) bool { return c.MovedFrom != "" },
	) {
		t.Errorf("nothing is moved where nothing was: %+v", got)
	}
}

func TestMovesLeadThroughAChain(t *testing.T) {
	text := strings.Replace(diffFleet, `fleet "x"`, `fleet "c"`, 1) + moves("a b", "b c")
	definition := mustLoad(t, text, config.Variables{}).Definition
	if want := []fleet.Move{
		{From: "fleet.a", To: "fleet.c"},
		{From: "fleet.b", To: "fleet.c"},
	}; !slices.Equal(
		definition.Moved,
		want,
	) {
		t.Errorf("moved is %v", definition.Moved)
	}
	for _, one := range []struct {
		have []fleet.FleetAddress
		want []fleet.Move
	}{
		{[]fleet.FleetAddress{"fleet.a"}, []fleet.Move{{From: "fleet.a", To: "fleet.c"}}},
		{[]fleet.FleetAddress{"fleet.b"}, []fleet.Move{{From: "fleet.b", To: "fleet.c"}}},
		{[]fleet.FleetAddress{"fleet.a", "fleet.b"}, []fleet.Move{{From: "fleet.b", To: "fleet.c"}}},
		{[]fleet.FleetAddress{"fleet.a", "fleet.c"}, nil},
		{nil, nil},
	} {
		var old fleet.Definition
		for _, address := range one.have {
			old.Fleets = append(old.Fleets, fleet.RunnerFleet{Address: address})
		}
		if got := definition.MovesFrom(old); !slices.Equal(got, one.want) {
			t.Errorf("with %v: %v, want %v", one.have, got, one.want)
		}
	}
}

func TestFleetMovesIntoForEach(t *testing.T) {
	old := mustLoad(t, strings.Replace(diffFleet, `fleet "x"`, `fleet "web"`, 1), config.Variables{}).Definition
	text := diffFleet[:strings.LastIndex(diffFleet, "fleet \"x\"")] + teams(`toset(["web"])`) + moves(`web team["web"]`)
	for _, change := range config.Diff(old, mustLoad(t, text, config.Variables{}).Definition) {
		if change.Address != `fleet.team["web"]` || change.MovedFrom != "fleet.web" {
			t.Errorf("%+v", change)
		}
	}
}
