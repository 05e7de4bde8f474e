//go:build unix

package pluginhost

import (
	"context"
	"encoding/json"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// CheckRequest is what an instance would be made of.
type CheckRequest struct {
	Instance json.RawMessage
	Image    string
	Platform fleet.Platform
}

// Check asks the configured plugin whether its infrastructure has what an instance block
// names. Call it only where the plugin's services name it.
func (p *Process) Check(ctx context.Context, r CheckRequest) ([]fleet.PluginDiagnostic, error) {
	const doing = "check an instance block"
	request := &providerpb.CheckRequest{
		InstanceJson: r.Instance, Image: r.Image,
		Platform: &providerpb.Platform{Os: r.Platform.OS, Arch: r.Platform.Arch},
	}
	if refusal := p.refusal(ctx, request); refusal != nil {
		return nil, p.notSent(doing, refusal)
	}
	response, err := providerpb.NewCheckerClient(p.conn).Check(ctx, request)
	if err != nil {
		return nil, p.failed(doing, err)
	}
	return diagnosticsOf(response.GetDiagnostics()), nil
}
