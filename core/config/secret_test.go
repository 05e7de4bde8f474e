package config_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
)

const withSecrets = `
provider "cloud" "other" {
  region = "eu-1"
  token  = secret("env:CLOUD_TOKEN")
}

scheduler "reviewos" "main" {
  url           = "https://ci.example"
  token         = secret("file:/etc/token")
  metrics_token = true ? secret("env:A") : secret("env:B")
}
`

func TestDefinitionHoldsSecretReferences(t *testing.T) {
	definition := mustLoad(t, withSecrets, config.Variables{}).Definition
	if got, want := string(
		definition.Providers[2].Config,
	), `{"region":"eu-1","retry":"1m30s","token":{"$secret":"env:CLOUD_TOKEN"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	text, err := json.Marshal(definition.Schedulers)
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"address":"reviewos.main","url":"https://ci.example","token":{"$secret":"file:/etc/token"},"metrics_token":{"$secret":"env:A"}}]`; string(
		text,
	) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func TestDiffShowsSecretReferences(t *testing.T) {
	old := mustLoad(t, withSecrets, config.Variables{}).Definition
	new := mustLoad(
		t,
		strings.NewReplacer("CLOUD_TOKEN", "NEW_TOKEN", "file:/etc/token", "env:TOKEN").Replace(withSecrets),
		config.Variables{},
	).Definition
	var got []string
	for _, change := range config.Diff(old, new) {
		for _, attribute := range change.Attributes {
			got = append(got, fmt.Sprintf("%s %s %s → %s", change.Address, attribute.Path, attribute.Old, attribute.New))
		}
	}
	want := `provider.cloud.other config.token secret("env:CLOUD_TOKEN") → secret("env:NEW_TOKEN")
scheduler.reviewos.main token secret("file:/etc/token") → secret("env:TOKEN")`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// Whatever a person does wrong with a sensitive variable, its value is in no
// message and in no definition.
func TestSensitiveValueIsNeverShownOrStored(t *testing.T) {
	const planted = "hunter2-planted"
	const declared = "variable \"secret\" {\n  sensitive = true\nTYPE}\n"
	uses := []string{
		"",
		"locals {\n  a = \"${var.secret}x\"\n}\n",
		"locals {\n  a = parseint(var.secret, 10)\n}\n",
		"locals {\n  a = regex(\"^$\", var.secret)\n}\n",
		"locals {\n  a = var.secret.b\n}\n",
		"locals {\n  a = { (var.secret) = 1 }\n}\n",
		"locals {\n  a = var.secret + 1\n}\n",
		"locals {\n  a = { x = var.secret }\n}\n\nprovider \"cloud\" \"o\" {\n  region = local.a.x\n}\n",
		"provider \"cloud\" \"o\" {\n  region = var.secret\n}\n",
		"provider \"cloud\" \"o\" {\n  region = \"a\"\n  token  = var.secret\n}\n",
		"provider \"cloud\" \"o\" {\n  region = \"a\"\n  token  = secret(var.secret)\n}\n",
		"provider \"cloud\" \"o\" {\n  region = \"a\"\n  retry  = var.secret\n}\n",
		"image \"o\" {\n  digest    = var.secret\n  bootstrap = \"a\"\n  refs      = { cloud = var.secret }\n}\n",
		"removed {\n  from = var.secret\n}\n",
		teams("toset([var.secret])"),
		teams("{ a = var.secret }"),
		"scheduler \"forgeyard\" \"s\" {\n  url   = var.secret\n  token = var.secret\n}\n",
	}
	for _, kind := range []string{"", "  type      = number\n", "  type      = list(string)\n",
		"  type      = object({ a = number })\n"} {
		for _, use := range uses {
			text := strings.Replace(declared, "TYPE", kind, 1) + use
			for name, variables := range map[string]config.Variables{
				"an assignment":  {Assignments: []string{"secret=" + planted}},
				"an expression":  {Assignments: []string{"secret=[\"" + planted + "\"]"}},
				"a broken one":   {Assignments: []string{"secret=[\"" + planted}},
				"a misspelt one": {Assignments: []string{"secert=" + planted}},
				"no assignment":  {Assignments: []string{planted}},
				"environment":    {Environment: []string{"FLEET_VAR_secret=" + planted}},
				"a file":         {Files: []config.Source{{Name: "v.hcl", Bytes: []byte("secret = \"" + planted + "\"\n")}}},
				"a broken file":  {Files: []config.Source{{Name: "v.hcl", Bytes: []byte("secret = \"" + planted + "\n")}}},
				"an odd file": {
					Files: []config.Source{{Name: "v.hcl", Bytes: []byte("secret = { a = \"" + planted + "\" }\n")}}},
				"a default": {},
			} {
				text := text
				if name == "a default" {
					text = strings.Replace(text, "  sensitive = true\n", "  sensitive = true\n  default   = \"PLANTED\"\n", 1)
				}
				loaded, diagnostics := load(t, text, variables)
				shown, err := json.Marshal(diagnostics)
				if err != nil {
					t.Fatal(err)
				}
				all := rendered(t, diagnostics) + string(shown)
				if loaded != nil {
					stored, err := json.Marshal(loaded.Definition)
					if err != nil {
						t.Fatal(err)
					}
					all += string(stored) + fmt.Sprint(loaded.NoEffectYet())
				}
				if name == "no assignment" {
					continue // it is not known to be one
				}
				if strings.Contains(all, planted) {
					t.Errorf("%s with %q%s:\n%s", name, kind, use, all)
				}
			}
		}
	}
}

func TestNoEffectYetIsWarnedOnce(t *testing.T) {
	text := teams(
		`toset(["a", "b"])`,
	) + strings.Replace(
		diffFleet,
		"  timeouts {",
		"  lifetime_class = \"preemptible\"\n\n  placement {\n    spread = \"zone\"\n  }\n\n  timeouts {",
		1,
	) + `
fleet "z" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack
  lifetime_class = "stable"

  scaling {
    min = 1
    max = 1
  }
}
`
	found := mustLoad(t, text, config.Variables{}).NoEffectYet()
	var got []string
	for _, one := range found {
		got = append(got, fmt.Sprintf("%s: %s", one.Range, one.Summary))
	}
	if len(found) != 2 || !strings.Contains(found[0].Summary, "fleet.lifetime_class") ||
		!strings.Contains(found[0].Detail, "one place more") ||
		!strings.Contains(found[1].Summary, "fleet.placement.spread is read and stored, and has no effect yet") {
		t.Errorf("got %q", got)
	}
	if found := mustLoad(t, "", config.Variables{}).NoEffectYet(); len(found) != 0 {
		t.Errorf("of a file that uses nothing of it: %v", found)
	}
}
