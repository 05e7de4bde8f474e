package workspace

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

// warnUnusedForecast warns of forecasts of fleets whose hosts a person joins: nothing
// makes these hosts, so what a model expects changes no number. Only the plugin says
// whose hosts are joined, so it can't be told before its schema is known.
func warnUnusedForecast(d fleet.Definition) (found config.Diagnostics) {
	for _, f := range d.Fleets {
		if f.Joined && f.Forecast != (fleet.Forecast{}) {
			found = append(found, config.Diagnostic{
				Severity: config.Warning,
				Block:    string(f.Address),
				Summary:  fmt.Sprintf("The forecast of %s has no effect", f.Address),
				Detail: fmt.Sprintf(
					"A person joins the hosts of provider.%s, and a forecast can't make them come. Remove the forecast block, or "+
						"give the fleet a provider that makes hosts.",
					f.Provider,
				),
			})
		}
	}
	return found
}

// warnNoIsolation warns of fleets that no host of this version can join: its agent
// isolates jobs only on Linux, and says so elsewhere.
func warnNoIsolation(d fleet.Definition) config.Diagnostics {
	var found config.Diagnostics
	for _, f := range d.Fleets {
		if f.Admission.JobIsolation != fleet.JobIsolationNone && f.Class.Platform.OS != "linux" {
			found = append(found, config.Diagnostic{
				Severity: config.Warning,
				Block:    string(f.Address),
				Summary:  "No host will be admitted to " + string(f.Address),
				Detail: "The fleet asks for job isolation, as by default, and this version's agent can't isolate jobs on " +
					f.Class.Platform.OS + ". Where jobs are yours, write: admission { job_isolation = \"none\" }",
			})
		}
	}
	return found
}

// warnDevBuilds warns of plugins that are somebody's own build, which no signature
// vouches for and no other machine can install.
func warnDevBuilds(d fleet.Definition, lock pluginstore.Lock) config.Diagnostics {
	var found config.Diagnostics
	for _, r := range d.Plugins {
		if locked, there := lock.Plugin(r.Name); there && locked.Source == pluginstore.SourceDev {
			found = append(found, config.Diagnostic{
				Severity: config.Warning,
				Block:    "forgeyard.required_plugins",
				Summary:  fmt.Sprintf("The plugin %q is somebody's own build", r.Name),
				Detail: "It was installed with plugin install --dev: it is unsigned, and no other machine can install it. To " +
					"take a published version, run: forgeyard-fleet plugin update " + r.Name,
			})
		}
	}
	return found
}
