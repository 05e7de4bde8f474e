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

// limitedWithoutAPrice is a fleet that may cost so much, and says no price.
const limitedWithoutAPrice = `
fleet "z" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  cost {
    max_hourly = "5 USD"
  }

  scaling {
    min = 1
    max = 1
  }
}
`

func TestCostLimitNeedsPriceWithoutOffers(t *testing.T) {
	sources := []config.Source{source(t, "testdata/base.hcl"), {Name: "main.hcl", Bytes: []byte(limitedWithoutAPrice)}}
	if _, found := config.Load(sources, config.Variables{}, trading{}); found.HasErrors() {
		t.Errorf("its offers have prices: %s", rendered(t, found))
	}
	_, found := config.Load(sources, config.Variables{}, schemas{})
	if got := rendered(t, found); !found.HasErrors() || !strings.Contains(got, "max_hourly needs a price") {
		t.Errorf("no one quotes a price: %s", got)
	}
}

// uninstalled are the schemas where no plugin has been installed yet.
type uninstalled struct{}

func (uninstalled) Schemas(string) (fleet.PluginSchemas, error) { return schemas{}.Schemas("none") }

// The provider was said to quote no prices, although no one knew that yet.
func TestCostLimitIsFineBeforePluginInstall(t *testing.T) {
	_, found := config.Load(
		[]config.Source{source(t, "testdata/base.hcl"), {Name: "main.hcl", Bytes: []byte(limitedWithoutAPrice)}},
		config.Variables{},
		uninstalled{},
	)
	if got := rendered(t, found); !strings.Contains(got, "isn't installed") || strings.Contains(got, "without a price") {
		t.Errorf("it says\n%s", got)
	}
}

func TestPlacementTakesEffectWithOffers(t *testing.T) {
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
			loaded, found := config.Load(
				[]config.Source{source(t, "testdata/base.hcl"), {Name: "main.hcl", Bytes: []byte(text)}},
				config.Variables{},
				test.schemas,
			)
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
