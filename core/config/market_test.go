package config_test

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// trading are schemas of plugins that list offers.
type trading struct{ schemas }

func (t trading) Schemas(plugin string) (fleet.PluginSchemas, error) {
	found, err := t.schemas.Schemas(plugin)
	found.Market = true
	return found, err
}

func TestPlacementAndLifetimeTakeEffectWhereThePluginListsOffers(t *testing.T) {
	text := `
fleet "z" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack
  lifetime_class = "preemptible"

  placement {
    zones  = ["a", "b"]
    spread = "zone"
  }

  scaling {
    min = 1
    max = 1
  }
}
`
	for name, test := range map[string]struct {
		schemas interface {
			Schemas(string) (fleet.PluginSchemas, error)
		}
		market bool
		told   string
	}{
		"offers":    {trading{}, true, ""},
		"no offers": {schemas{}, false, "fleet.lifetime_class fleet.placement.zones fleet.placement.spread"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, found := config.Load([]config.Source{source(t, "testdata/base.hcl"), {Name: "main.hcl", Bytes: []byte(text)}}, config.Variables{}, test.schemas)
			if found.HasErrors() {
				t.Fatal(rendered(t, found))
			}
			var told []string
			for _, one := range loaded.NoEffectYet() {
				told = append(told, strings.Fields(one.Summary)[0])
			}
			if got := strings.Join(told, " "); got != test.told || fleetNamed(t, loaded.Definition, "z").Market != test.market {
				t.Errorf("told %q, want %q", got, test.told)
			}
		})
	}
}
