//go:build unix

package pluginhost

import (
	"context"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Unattestable is an attestation that the instances of a block can't have.
type Unattestable struct {
	Attestation, Reason string
	// Path is the attribute of the instance block that decides it.
	Path []fleet.PathStep
}

// Attestable asks the plugin what the instances of the blocks, by fleet, can't have of
// what it declares. It needs no Configure. Call it only where the plugin's services name it.
func (p *Process) Attestable(
	ctx context.Context, provider secret.Resolved, instances map[string][]byte,
) (map[string][]Unattestable, error) {
	const doing = "say what it can attest"
	request := &providerpb.AttestableRequest{ProviderJson: provider.Body, InstanceJson: instances}
	if refusal := p.refusal(ctx, request); refusal != nil {
		return nil, p.notSent(doing, refusal)
	}
	p.learn(provider)
	response, err := providerpb.NewAttestationsClient(p.conn).Attestable(ctx, request)
	if err != nil {
		return nil, p.failed(doing, err)
	}
	all := map[string][]Unattestable{}
	for name, answer := range response.GetFleets() {
		for _, missing := range answer.GetMissing() {
			all[name] = append(all[name], Unattestable{
				Attestation: missing.GetAttestation(),
				Reason:      shownText(missing.GetReason(), maxErrorMessage),
				Path:        pathOf(missing.GetPath()),
			})
		}
	}
	return all, nil
}
