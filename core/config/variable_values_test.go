package config_test

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

const variableFleet = `
variable "region" {
  type    = string
  default = "from the default"
}

variable "zones" {
  type    = list(string)
  default = []
}

variable "anything" {
  default = 1
}

provider "cloud" "x" {
  region = "${var.region} ${join("+", var.zones)} ${var.anything}"
}
`

// An environment that sets a misspelt variable was ignored in silence.
func TestUndeclaredEnvironmentVariableIsOneLine(t *testing.T) {
	loaded, found := config.Load(
		[]config.Source{
			{
				Name:  "f.hcl",
				Bytes: []byte("forgeyard {\n  installation = \"demo\"\n}\nvariable \"region\" {\n  default = \"x\"\n}\n"),
			},
		},
		config.Variables{Environment: []string{"FLEET_VAR_regoin=secret", "FLEET_VAR_region=y", "PATH=/bin"}},
		nil,
	)
	if loaded == nil || len(found) != 1 || found[0].Severity != config.Warning {
		t.Fatalf("it is %v with %v", loaded, found)
	}
	if got, want := rendered(
		t,
		found,
	), "Warning: FLEET_VAR_regoin is ignored: no variable \"regoin\" is declared; did you mean "+
		"\"region\"?\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUndeclaredVariablesAreOneWarning(t *testing.T) {
	_, found := config.Load(
		[]config.Source{{
			Name:  "f.hcl",
			Bytes: []byte("forgeyard {\n  installation = \"demo\"\n}\nvariable \"region\" {\n  default = \"x\"\n}\n"),
		}},
		config.Variables{Environment: []string{"FLEET_VAR_b=1", "FLEET_VAR_regoin=2", "FLEET_VAR_c=3", "FLEET_VAR_d=4",
			"FLEET_VAR_e=5", "FLEET_VAR_f=6", "FLEET_VAR_a=7"}},
		nil,
	)
	const want = "Warning: FLEET_VAR_a, FLEET_VAR_b, FLEET_VAR_c, FLEET_VAR_d, FLEET_VAR_e, 2 more are ignored: no such " +
		"variables are declared\n"
	if got := rendered(t, found); len(found) != 1 || got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRemovedBlockForUnknownFleetWarns(t *testing.T) {
	loaded, found := config.Load(
		[]config.Source{
			{
				Name: "f.hcl",
				Bytes: []byte(
					"forgeyard {\n  installation = \"demo\"\n}\n\nremoved {\n  from = fleet.legcay\n}\nremoved {\n  from = " +
						"fleet.old\n}\n",
				),
			},
		},
		config.Variables{},
		nil,
	)
	if len(found) > 0 {
		t.Fatal(found)
	}
	warnings := loaded.RemovesNothing([]fleet.FleetAddress{"fleet.legacy", "fleet.old"})
	if len(warnings) != 1 || warnings.HasErrors() || warnings[0].Range.Line != 6 ||
		!strings.Contains(warnings[0].Detail, "Did you mean fleet.legacy?") {
		t.Errorf("it says %+v", warnings)
	}
}

func TestVariableSources(t *testing.T) {
	file := func(text string) config.Source { return config.Source{Name: "vars.hcl", Bytes: []byte(text)} }
	for name, one := range map[string]struct {
		variables config.Variables
		want      string
	}{
		"the default": {config.Variables{}, "from the default  1"},
		"the environment wins over the default": {
			config.Variables{
				Environment: []string{"FLEET_VAR_region=env", "FLEET_VAR_zones=[\"a\", \"b\"]", "FLEET_VAR_other=1", "PATH=/bin"}},
			"env a+b 1"},
		"a file wins over the environment": {
			config.Variables{Environment: []string{"FLEET_VAR_region=env"},
				Files: []config.Source{file("region = \"file\"\nzones = [1]\n")}}, "file 1 1"},
		"an assignment wins over a file, and the last one over the first": {
			config.Variables{Files: []config.Source{file("region = \"file\"")},
				Assignments: []string{"region=one", "region=two=2"}}, "two=2  1"},
		"without a type the text is the value": {
			config.Variables{Assignments: []string{"anything=[1]"}}, "from the default  [1]"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := mustLoad(t, variableFleet, one.variables)
			got := string(loaded.Definition.Providers[2].Config)
			if want := `{"region":"` + one.want + `","retry":"1m30s"}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestInvalidVariableValueNamesItsSource(t *testing.T) {
	for name, one := range map[string]struct {
		variables config.Variables
		want      []string
	}{
		"an unknown name": {config.Variables{Assignments: []string{"regoin=x"}},
			[]string{"--var regoin:1:1", `Did you mean "region"?`}},
		"no equals sign": {config.Variables{Assignments: []string{"region"}},
			[]string{"--var region:1:1", "name=value"}},
		"a broken expression": {config.Variables{Environment: []string{"FLEET_VAR_zones=[1,"}},
			[]string{"FLEET_VAR_zones:1:"}},
		"a reference": {config.Variables{Assignments: []string{"zones=[local.x]"}},
			[]string{"--var zones:1:2", "can't refer"}},
		"the wrong type": {config.Variables{Assignments: []string{"zones={}"}},
			[]string{"--var zones:1:1", "list of string"}},
		"deep nesting": {config.Variables{Assignments: []string{"zones=" + strings.Repeat("[", 100_000)}},
			[]string{"--var zones:1:", "too deep"}},
		"an unknown file line": {
			config.Variables{Files: []config.Source{{Name: "v.hcl", Bytes: []byte("zoness = []")}}},
			[]string{"v.hcl:1:1", `Did you mean "zones"?`}},
		"a block in a file": {
			config.Variables{Files: []config.Source{{Name: "v.hcl", Bytes: []byte("zones {\n}\n")}}},
			[]string{"v.hcl:1:1", "name = value"}},
		"a file that is not a file": {config.Variables{Files: []config.Source{{Name: "v.hcl", Bytes: []byte("\xff")}}},
			[]string{"v.hcl:1:1", "UTF-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, diagnostics := load(t, variableFleet, one.variables)
			got := rendered(t, diagnostics)
			if !diagnostics.HasErrors() {
				t.Fatal("accepted")
			}
			for _, want := range one.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in:\n%s", want, got)
				}
			}
		})
	}
}
