package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestProviderAdvertiseWorksWithEveryPlugin(t *testing.T) {
	definition := mustLoad(
		t,
		"provider \"bare\" \"x\" {\n  advertise = \"https://10.0.2.2:7443\"\n}\n",
		config.Variables{},
	).Definition
	n := slices.IndexFunc(definition.Providers, func(p fleet.Provider) bool { return p.Address == "bare.x" })
	if n < 0 || definition.Providers[n].Advertise != "https://10.0.2.2:7443" ||
		string(definition.Providers[n].Config) != "{}" {
		t.Errorf("the providers are %+v", definition.Providers)
	}
	for _, wrong := range []string{`"http://10.0.2.2:7443"`, `"10.0.2.2"`, `""`, `7`} {
		_, diagnostics := load(t, "provider \"bare\" \"x\" {\n  advertise = "+wrong+"\n}\n", config.Variables{})
		if !diagnostics.HasErrors() || !strings.Contains(rendered(t, diagnostics), "advertise") {
			t.Errorf("%s was taken: %s", wrong, rendered(t, diagnostics))
		}
	}
}
