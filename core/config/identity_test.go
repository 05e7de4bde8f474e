package config_test

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// verifying are schemas of plugins that verify identities.
type verifying struct{ schemas }

func (v verifying) Schemas(plugin string) (fleet.PluginSchemas, error) {
	found, err := v.schemas.Schemas(plugin)
	found.Identity = true
	return found, err
}

func TestEvidenceIsAskedForWhereThePluginVerifiesItUnlessTheFleetDoesWithout(t *testing.T) {
	load := func(s config.SchemaSource, admission string) (fleet.AdmissionPolicy, string) {
		t.Helper()
		text := `
fleet "z" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scaling {
    min = 1
    max = 1
  }
` + admission + `
}
`
		loaded, found := config.Load([]config.Source{source(t, "testdata/base.hcl"), {Name: "main.hcl", Bytes: []byte(text)}}, config.Variables{}, s)
		if found.HasErrors() {
			return fleet.AdmissionPolicy{}, rendered(t, found)
		}
		return fleetNamed(t, loaded.Definition, "z").Admission, ""
	}
	const required, none = "admission {\n identity = \"required\"\n}", "admission {\n identity = \"none\"\n}"
	for name, c := range map[string]struct {
		schemas   config.SchemaSource
		admission string
		want      bool
		complaint string
	}{
		"a plugin that verifies":                    {verifying{}, "", true, ""},
		"the same, and the fleet asks":              {verifying{}, required, true, ""},
		"the same, and the fleet does without":      {verifying{}, none, false, ""},
		"a plugin that doesn't":                     {schemas{}, "", false, ""},
		"the same, and the fleet does without it":   {schemas{}, none, false, ""},
		"the same, and the fleet asks all the same": {schemas{}, required, false, `The plugin "bare" verifies no identity`},
		"a word that isn't known":                   {verifying{}, "admission {\n identity = \"requird\"\n}", false, `Did you mean "required"?`},
	} {
		got, complaint := load(c.schemas, c.admission)
		if got.RequiresIdentity() != c.want || c.complaint == "" && complaint != "" || !strings.Contains(complaint, c.complaint) {
			t.Errorf("%s: %+v\n%s", name, got, complaint)
		}
	}
}
