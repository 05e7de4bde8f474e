package config_test

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func name(text string) fleet.PathStep { return fleet.PathStep{Name: text} }

func index(i int64) fleet.PathStep { return fleet.PathStep{Index: i} }

func TestPluginDiagnosticHasLine(t *testing.T) {
	loaded := mustLoad(t, `locals {
  subnets = ["a"]
}

fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.cloud.main

  instance {
    types   = ["m1", "m2"]
    subnets = local.subnets
    labels  = { team = "a", (upper("b")) = "c" }
    shape = {
      cores = 4
    }

    disk {
      size = 1
    }

    disk {
      size = 2
    }

    console {
      port = 1
    }
  }

  scaling {
    min = 1
    max = 1
  }
}
`, config.Variables{})
	for title, one := range map[string]struct {
		path        []fleet.PathStep
		place, mark string
	}{
		"the body":                      {nil, "main.hcl:9:3", "instance"},
		"an attribute":                  {[]fleet.PathStep{name("types")}, "main.hcl:10:5", `types   = ["m1", "m2"]`},
		"an element":                    {[]fleet.PathStep{name("types"), index(1)}, "main.hcl:10:22", `"m2"`},
		"an element that isn't there":   {[]fleet.PathStep{name("types"), index(9)}, "main.hcl:10:15", `["m1", "m2"]`},
		"a negative element":            {[]fleet.PathStep{name("types"), index(-1)}, "main.hcl:10:15", `["m1", "m2"]`},
		"an element behind a reference": {[]fleet.PathStep{name("subnets"), index(0)}, "main.hcl:11:15", "local.subnets"},
		"a map's value":                 {[]fleet.PathStep{name("labels"), name("team")}, "main.hcl:12:24", `"a"`},
		"a map's value with a computed key": {[]fleet.PathStep{name("labels"), name("B")}, "main.hcl:12:15",
			`{ team = "a", (upper("b")) = "c" }`},
		"an object's attribute": {[]fleet.PathStep{name("shape"), name("cores")}, "main.hcl:14:15", "4"},
		"a repeated block":      {[]fleet.PathStep{name("disk"), index(1)}, "main.hcl:21:5", "disk"},
		"an attribute of a repeated block": {[]fleet.PathStep{name("disk"), index(1), name("size")}, "main.hcl:22:7",
			"size = 2"},
		"a default of a repeated block":   {[]fleet.PathStep{name("disk"), index(0), name("kind")}, "main.hcl:17:5", "disk"},
		"a single block":                  {[]fleet.PathStep{name("console"), name("port")}, "main.hcl:26:7", "port = 1"},
		"an attribute that isn't written": {[]fleet.PathStep{name("cpus")}, "main.hcl:9:3", "instance"},
	} {
		t.Run(title, func(t *testing.T) {
			got := loaded.InstanceDiagnostics(
				"fleet.x",
				[]fleet.PluginDiagnostic{{Summary: "no", Detail: "because", Path: one.path}},
			)
			if len(got) != 1 || got[0].Range.String() != one.place || got[0].Snippet.Marked != one.mark {
				t.Errorf("got %s marking %q, want %s marking %q", got[0].Range, got[0].Snippet.Marked, one.place, one.mark)
			}
			if got[0].Block != `instance of fleet "x"` || got[0].Severity != config.Error {
				t.Errorf("got %+v", got[0])
			}
		})
	}
	provider := loaded.ProviderDiagnostics(
		"cloud.main",
		[]fleet.PluginDiagnostic{{Warning: true, Summary: "slow", Path: []fleet.PathStep{name("region")}}},
	)
	if provider.HasErrors() || provider[0].Range.String() != "base.hcl:12:3" {
		t.Errorf("got %+v", provider)
	}
	unknown := loaded.ProviderDiagnostics("cloud.gone", []fleet.PluginDiagnostic{{Summary: "no"}})
	if got := rendered(t, unknown); !strings.Contains(got, "Error: no") {
		t.Errorf("a complaint about an unknown block must not be lost: %q", got)
	}
}

func TestRenderStripsControlCharacters(t *testing.T) {
	loaded := mustLoad(t, "", config.Variables{})
	got := rendered(
		t,
		loaded.ProviderDiagnostics("cloud.main", []fleet.PluginDiagnostic{{Summary: "\x1b[2Jgone", Detail: "a\rb\nc\u202e"}}),
	)
	if strings.ContainsAny(got, "\x1b\r\u202e") {
		t.Errorf("control characters reached the output: %q", got)
	}
}
