package config_test

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// verifying are schemas of plugins that verify identities, where the provider block
// has the attribute.
type verifying struct {
	schemas
	needs string
}

func (v verifying) Schemas(plugin string) (fleet.PluginSchemas, error) {
	found, err := v.schemas.Schemas(plugin)
	found.Identity, found.IdentityNeeds = true, v.needs
	return found, err
}

// batching are schemas of plugins that make batches of at most the number.
type batching struct {
	verifying
	most int
}

func (b batching) Schemas(plugin string) (fleet.PluginSchemas, error) {
	found, err := b.verifying.Schemas(plugin)
	found.Batches, found.MaxBatch = true, b.most
	return found, err
}

func TestBatchNeedsPluginAndVerifiedIdentity(t *testing.T) {
	load := func(s config.SchemaSource, attributes string) (int, string) {
		t.Helper()
		text := "fleet \"z\" {\n capacity_class = capacity_class.standard\n provider = provider.bare.rack\n scaling {\n " +
			"min = 1\n max = 1\n }\n" + attributes + "\n}\n"
		loaded, found := config.Load(
			[]config.Source{source(t, "testdata/base.hcl"), {Name: "main.hcl", Bytes: []byte(text)}},
			config.Variables{},
			s,
		)
		if found.HasErrors() {
			return 0, rendered(t, found)
		}
		return fleetNamed(t, loaded.Definition, "z").Batch, ""
	}
	for name, c := range map[string]struct {
		schemas    config.SchemaSource
		attributes string
		want       int
		complaint  string
	}{
		"a plugin that makes batches": {batching{}, "batch = 20", 20, ""},
		"as many as it takes":         {batching{most: 20}, "batch = 20", 20, ""},
		"more than it takes": {batching{most: 20}, "batch = 21", 0,
			`makes at most 20 instances by one call`},
		"more than anybody takes":              {batching{}, "batch = 101", 0, "1 ≤ batch ≤ 100"},
		"none":                                 {batching{}, "batch = 0", 0, "1 ≤ batch ≤ 100"},
		"one by one":                           {batching{}, "batch = 1", 0, ""},
		"nothing is said":                      {batching{}, "", 0, ""},
		"a plugin that makes none":             {verifying{}, "batch = 2", 0, `The plugin "bare" makes no batches`},
		"a plugin that makes none, one by one": {verifying{}, "batch = 1", 0, ""},
		"a fleet that does without evidence": {batching{}, "batch = 2\n admission {\n identity = \"none\"\n}", 0,
			`batch needs identity = "required"`},
		"a provider block that can't verify any": {batching{verifying: verifying{needs: "region"}}, "batch = 2", 0,
			`batch needs identity = "required"`},
	} {
		got, complaint := load(c.schemas, c.attributes)
		if got != c.want || (c.complaint == "") != (complaint == "") || !strings.Contains(complaint, c.complaint) ||
			complaint != "" && !strings.Contains(complaint, "main.hcl:") {
			t.Errorf("%s: %d\n%s", name, got, complaint)
		}
	}
}

func TestIdentityIsRequiredWherePluginVerifiesIt(t *testing.T) {
	bare, cloud := "provider = provider.bare.rack",
		"provider = provider.cloud.main\n image = image.ubuntu\n instance {\n types = [\"m1\"]\n }"
	load := func(s config.SchemaSource, provider, admission string) (fleet.AdmissionPolicy, string) {
		t.Helper()
		text := `
fleet "z" {
  capacity_class = capacity_class.standard
` + provider + `

  scaling {
    min = 1
    max = 1
  }
` + admission + `
}
`
		loaded, found := config.Load(
			[]config.Source{source(t, "testdata/base.hcl"), {Name: "main.hcl", Bytes: []byte(text)}},
			config.Variables{},
			s,
		)
		if found.HasErrors() {
			return fleet.AdmissionPolicy{}, rendered(t, found)
		}
		return fleetNamed(t, loaded.Definition, "z").Admission, ""
	}
	const required, none = "admission {\n identity = \"required\"\n}", "admission {\n identity = \"none\"\n}"
	for name, c := range map[string]struct {
		schemas   config.SchemaSource
		provider  string
		admission string
		want      bool
		complaint string
	}{
		"a plugin that verifies":                {verifying{}, bare, "", true, ""},
		"the same, and the fleet asks":          {verifying{}, bare, required, true, ""},
		"the same, and the fleet does without":  {verifying{}, bare, none, false, ""},
		"one whose block lacks what that takes": {verifying{needs: "region"}, bare, "", false, ""},
		"the same, and the fleet asks for it": {verifying{needs: "region"}, bare, required, false,
			`The provider "bare.rack" doesn't verify identities`},
		"the same, and the fleet has none":        {verifying{needs: "region"}, bare, none, false, ""},
		"one whose block has what that takes":     {verifying{needs: "region"}, cloud, "", true, ""},
		"a plugin that doesn't":                   {schemas{}, bare, "", false, ""},
		"the same, and the fleet does without it": {schemas{}, bare, none, false, ""},
		"the same, and the fleet asks all the same": {schemas{}, bare, required, false,
			`The plugin "bare" doesn't verify identities`},
		"a word that isn't known": {verifying{}, bare, "admission {\n identity = \"requird\"\n}", false,
			`Did you mean "required"?`},
	} {
		got, complaint := load(c.schemas, c.provider, c.admission)
		if got.RequiresIdentity() != c.want || c.complaint == "" && complaint != "" ||
			!strings.Contains(complaint, c.complaint) {
			t.Errorf("%s: %+v\n%s", name, got, complaint)
		}
	}
}
