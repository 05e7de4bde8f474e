//go:build unix

package pluginhost

import (
	"context"
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Policy asks the plugin what the credentials of a provider block must be allowed to
// do, for the instance blocks of its fleets by name. It needs no Configure. Call it
// only where the plugin's services name it.
func (p *Process) Policy(
	ctx context.Context,
	installation string,
	provider secret.Resolved,
	instances map[string][]byte,
) (string, error) {
	const doing = "say what its credentials must be allowed"
	request := &providerpb.PolicyRequest{ProviderJson: provider.Body, InstanceJson: instances, Installation: installation}
	if refusal := p.refusal(ctx, request); refusal != nil {
		return "", p.notSent(doing, refusal)
	}
	p.learn(provider)
	response, err := providerpb.NewPermissionsClient(p.conn).Policy(ctx, request)
	if err != nil {
		return "", p.failed(doing, err)
	}
	document := response.GetDocument()
	if n := len(document); n == 0 || n > providerpb.MaxPolicyBytes {
		return "", fmt.Errorf("read the policy of %s: %w", p.launch.title(), &CallError{Class: fleet.ErrorInternal,
			Message: fmt.Sprintf("it has %d bytes, and 1 to %d are what a policy has", n, providerpb.MaxPolicyBytes)})
	}
	lines := strings.Split(document, "\n")
	for n, line := range lines {
		lines[n] = pluginlog.Printable(line)
	}
	return strings.Join(lines, "\n"), nil
}
