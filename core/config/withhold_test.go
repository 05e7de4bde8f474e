package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/config"
)

const withholding = `
forgeyard {
  installation = "lab"
}

variable "size" {
  type    = number
  default = 1
}

variable "zones" {
  type    = list(string)
  default = []
}

# A comment that stays.
variable "key" {
  type      = string
  sensitive = true
  # once it was PLANTED-comment
  default   = <<-EOT
    PLANTED-default
  EOT
}

variable "pin" {
  sensitive = true
  default   = ""
}

variable "other" {
  type      = object({ a = string })
  sensitive = true
}
`

func TestWithholdLeavesNothingSensitive(t *testing.T) {
	sources := []config.Source{{Name: "a.hcl", Bytes: []byte(withholding)}}
	variables := config.Variables{
		Assignments: []string{"size=3", " key = PLANTED-assigned", `other={ a = "PLANTED-object" }`},
		Files: []config.Source{
			{
				Name: "all.vars",
				Bytes: []byte(
					"# PLANTED-remark\nzones = [\n  \"a\", # PLANTED-inner\n  upper(\"b\"),\n]\nkey = \"PLANTED-file\"\n",
				),
			},
			{Name: "keys.vars", Bytes: []byte("pin = \"PLANTED-pin\"\n")},
		},
		Environment: []string{
			"FLEET_VAR_size=2",
			"FLEET_VAR_key=PLANTED-environment",
			"FLEET_VAR_undeclared=PLANTED-undeclared",
			"AWS_SECRET=PLANTED-foreign",
		},
	}
	if _, found := config.Load(sources, variables, schemas{}); found.HasErrors() {
		t.Fatal(found)
	}
	kept, plain, sensitive := config.WithholdSensitive(sources, variables)
	want := config.Variables{
		Assignments: []string{"size=3"},
		Files:       []config.Source{{Name: "all.vars", Bytes: []byte("zones = [\"a\", \"B\"]\n")}},
		Environment: []string{"FLEET_VAR_size=2"},
	}
	if diff := cmp.Diff(want, plain); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(
		config.Sensitive{Names: []string{"key", "other", "pin"}, Needed: []string{"key", "other"}},
		sensitive,
	); diff != "" {
		t.Errorf("sensitive (-want +got):\n%s", diff)
	}
	text := string(kept[0].Bytes)
	if strings.Contains(text, "PLANTED") || !strings.Contains(text, "A comment that stays") {
		t.Errorf("the source is now:\n%s", text)
	}
	if !strings.Contains(string(sources[0].Bytes), "PLANTED-default") {
		t.Error("the given source was changed")
	}

	_, found := config.Load(kept, plain, schemas{})
	if !found.HasErrors() || !strings.Contains(found.Error(), `"key" has no value`) ||
		!strings.Contains(found.Error(), `"other" has no value`) {
		t.Errorf("without the sensitive values it loads with: %v", found)
	}
	given := variables.Only(sensitive.Names)
	before, _ := config.Load(sources, variables, schemas{})
	after, found := config.Load(kept, plain.With(given), schemas{})
	if found.HasErrors() {
		t.Fatal(found)
	}
	if diff := cmp.Diff(before.Definition, after.Definition); diff != "" {
		t.Errorf("another definition:\n%s", diff)
	}
	for name, want := range map[string]bool{"key": true, "pin": true, "other": true, "size": false} {
		if given.Sets(name) != want {
			t.Errorf("%s is set: %v, want %v", name, given.Sets(name), want)
		}
	}
}

func TestWithholdDropsUnparsableFiles(t *testing.T) {
	secret := []byte(`variable "key" { sensitive = true default = "PLANTED"`)
	kept, plain, _ := config.WithholdSensitive(
		[]config.Source{{Name: "a.hcl", Bytes: secret}},
		config.Variables{Assignments: []string{"key=PLANTED"}},
	)
	only := config.Variables{Files: []config.Source{{Name: "x", Bytes: []byte("key = \"PLANTED")}}}.Only([]string{"key"})
	if len(kept)+len(slices.Concat(plain.Assignments, only.Assignments))+len(only.Files) > 0 {
		t.Errorf("kept %v, %v, %v", kept, plain, only)
	}
}
