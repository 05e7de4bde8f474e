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
func stranded(before, after fleet.ManagerSettings, state store.State) config.Diagnostics {
	agents := 0
	for _, i := range state.Instances {
		if i.Live() {
			agents++
		}
	}
	if agents == 0 || before.Listen == after.Listen && before.Advertise == after.Advertise {
		return nil
	}
	return config.Diagnostics{{
		Severity: config.Warning, Block: "forgeyard", Summary: fmt.Sprintf("%s know the manager at its old address", hosts(agents)),
		Detail: fmt.Sprintf("Agents keep the URL that they booted with, and manager { listen = %q, advertise = %q } reaches new hosts alone. Keep what was in effect (listen = %q, advertise = %q) answering until the old hosts are replaced: by a name in DNS, or a proxy that passes TLS through.",
			after.Listen, after.Advertise, before.Listen, before.Advertise),
	}}
}

func hosts(n int) string {
	if n == 1 {
		return "1 host"
	}
	return fmt.Sprintf("%d hosts", n)
}
