package plans

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// warnMissingAgents warns of fleets whose hosts could never enroll, since the manager has
// no agent for their platform.
func warnMissingAgents(d fleet.Definition) (found config.Diagnostics) {
	binaries := agentserver.NewAgentBinaries(workspace.AgentFolder(d.Manager))
	known := map[fleet.Platform]error{}
	for _, f := range d.Fleets {
		platform := f.Class.Platform
		err, asked := known[platform]
		if !asked {
			_, err = binaries.SHA256(platform.Target())
			known[platform] = err
		}
		if err != nil {
			found = append(found, config.Diagnostic{
				Severity: config.Warning, Block: string(f.Address), Summary: fmt.Sprintf("No host of %s can be made", f.Address),
				Detail: fmt.Sprintf("%v. None of its runners is replaced meanwhile.", err),
			})
		}
	}
	return found
}
