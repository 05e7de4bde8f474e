package control

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// stranded warns of a changed address of the manager: agents know the one of their
// bootstrap document and no other, so those that run would call where nobody
// answers.
func stranded(before, after fleet.Definition, state store.State) config.Diagnostics {
	agents, old, url := 0, "", ""
	for _, i := range state.Instances {
		was, is := before.AdvertiseFor(i.Provider), after.AdvertiseFor(i.Provider)
		if i.Live() && (before.Manager.Listen != after.Manager.Listen || was != is) {
			agents++
			old, url = was, is
		}
	}
	if agents == 0 {
		return nil
	}
	return config.Diagnostics{{
		Severity: config.Warning, Block: "forgeyard", Summary: fmt.Sprintf("%s know the manager at its old address", hosts(agents)),
		Detail: fmt.Sprintf("Agents keep the URL that they booted with, and listen = %q and advertise = %q reach new hosts alone. Keep what was in effect (listen = %q, advertise = %q) answering until the old hosts are replaced: by a name in DNS, or a proxy that passes TLS through.",
			after.Manager.Listen, url, before.Manager.Listen, old),
	}}
}

func hosts(n int) string {
	if n == 1 {
		return "1 host"
	}
	return fmt.Sprintf("%d hosts", n)
}
