package plans

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// warnOldAddress warns of a changed address of the manager: agents know the one of their
// bootstrap document and no other, so those that run would call where nothing
// answers.
func warnOldAddress(before, after fleet.Definition, state snapshot.State) config.Diagnostics {
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
	return config.Diagnostics{
		{
			Severity: config.Warning,
			Block:    "forgeyard",
			Summary:  fmt.Sprintf("%s know the manager at its old address", hosts(agents)),
			Detail: fmt.Sprintf(
				"Agents keep the URL that they booted with, and listen = %q and advertise = %q reach only new hosts. Keep what "+
					"was in effect (listen = %q, advertise = %q) answering until the old hosts are replaced: by a name in DNS, or a "+
					"proxy that passes TLS through.",
				after.Manager.Listen,
				url,
				before.Manager.Listen,
				old,
			),
		},
	}
}

// Listening is where the running manager answers agents: what the definition asked for
// when it started, and what came of that.
type Listening struct{ Wanted, At string }

// warnIgnoredListen warns of a listen that the running manager doesn't follow: a serve that began
// before the first apply has a port of its own, and hosts would call where nothing
// answers.
func warnIgnoredListen(now *Listening, after fleet.Definition) config.Diagnostics {
	wanted := after.Manager.Listen
	if now == nil || wanted == "" || wanted == now.Wanted || wanted == now.At {
		return nil
	}
	return config.Diagnostics{
		{
			Severity: config.Warning,
			Block:    "forgeyard",
			Summary:  fmt.Sprintf("the manager that runs doesn't listen at %s", wanted),
			Detail: fmt.Sprintf(
				"It answers agents at %s, and listen = %q counts from its next start. Until then new hosts may get an address "+
					"that doesn't answer, and fail. Apply, stop it (serve), and start it again.",
				now.At,
				wanted,
			),
		},
	}
}

func hosts(n int) string {
	if n == 1 {
		return "1 host"
	}
	return fmt.Sprintf("%d hosts", n)
}
