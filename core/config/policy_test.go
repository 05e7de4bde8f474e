package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
)

const policyOfRegions = `
policy {
  regions = ["eu-2", "eu-1"]

  entitlement "gold" {
    capacity_class = capacity_class.standard
    tenants        = ["globex", "acme"]
    max            = 3
  }
}
`

func TestFleetWithoutRegionsGetsThoseOfPolicy(t *testing.T) {
	base := source(t, "testdata/base.hcl")
	loaded, found := config.Load(
		[]config.Source{base, {Name: "policy.hcl", Bytes: []byte(policyOfRegions)}},
		config.Variables{},
		trading{},
	)
	if found.HasErrors() {
		t.Fatal(rendered(t, found))
	}
	if got := fleetNamed(t, loaded.Definition, "steady").Placement.Regions; !slices.Equal(got, []string{"eu-1", "eu-2"}) {
		t.Errorf("its regions are %q", got)
	}
	if told := loaded.NoEffectYet(); len(told) > 0 {
		t.Errorf("without effect: %v", told)
	}
	if e := loaded.Definition.Policy.Entitlements[0]; !slices.Equal(e.Tenants, []string{"acme", "globex"}) ||
		e.Class != "standard" ||
		e.Max != 3 {
		t.Errorf("the entitlement is %+v", e)
	}
}

func TestDiffShowsPolicyChange(t *testing.T) {
	load := func(policy string) *config.Loaded {
		loaded, found := config.Load(
			[]config.Source{source(t, "testdata/base.hcl"), {Name: "policy.hcl", Bytes: []byte(policy)}},
			config.Variables{},
			trading{},
		)
		if found.HasErrors() {
			t.Fatal(rendered(t, found))
		}
		return loaded
	}
	changes := config.Diff(
		load(policyOfRegions).Definition,
		load(strings.Replace(policyOfRegions, "max            = 3", "max            = 4", 1)).Definition,
	)
	if len(changes) != 1 || changes[0].Address != "policy" || len(changes[0].Attributes) != 1 ||
		changes[0].Attributes[0].Path != "entitlement.gold.max" {
		t.Errorf("it shows %+v", changes)
	}
}
