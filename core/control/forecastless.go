package control

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// forecastless warns of forecasts of fleets whose hosts a person joins: nothing
// makes these hosts, so what a model expects changes no number. Only the plugin says
// whose hosts are joined, so it can't be told before its schema is known.
func forecastless(d fleet.Definition) (found config.Diagnostics) {
	for _, f := range d.Fleets {
		if f.Joined && f.Forecast != (fleet.Forecast{}) {
			found = append(found, config.Diagnostic{
				Severity: config.Warning, Block: string(f.Address), Summary: fmt.Sprintf("The forecast of %s has no effect", f.Address),
				Detail: fmt.Sprintf("A person joins the hosts of provider.%s, and a forecast can't make them come. Remove the forecast block, or give the fleet a provider that makes hosts.", f.Provider),
			})
		}
	}
	return found
}
