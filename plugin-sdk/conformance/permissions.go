package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var permissionsRules = []Rule{
	{
		Name: "policy-offline", check: policyOffline,
		Says: "Policy writes before Configure, without a network and the same each time what the credentials must " +
			"be allowed.",
	},
}

func policyOffline(ctx context.Context, b *bench) error {
	switch {
	case b.info == nil:
		return errNoInfo
	case !b.offers(providerpb.PermissionsService):
		return skip("GetInfo doesn't name %q", providerpb.PermissionsService)
	}
	running, err := b.fresh(ctx, true)
	if err != nil {
		return err
	}
	defer func() { _ = b.stop() }() // it has no network
	var documents []string
	for range 2 {
		limited, cancel := context.WithTimeout(ctx, shortCall)
		response, err := providerpb.NewPermissionsClient(running.Connection()).Policy(limited, &providerpb.PolicyRequest{
			ProviderJson: b.options.Provider,
			InstanceJson: map[string][]byte{"one": b.options.Instance, "two": b.options.Instance}, Installation: b.installation,
		})
		cancel()
		if err != nil {
			return fmt.Errorf("policy: %w (within %s, before Configure)", err, shortCall)
		}
		documents = append(documents, response.GetDocument())
	}
	if trap, watched := running.(Trap); watched && len(trap.Reached()) > 0 {
		return fmt.Errorf("it connects to %s", strings.Join(trap.Reached(), ", "))
	}
	switch n := len(documents[0]); {
	case n == 0 || n > providerpb.MaxPolicyBytes:
		return fmt.Errorf("the policy has %d bytes: it has some, and at most %d", n, providerpb.MaxPolicyBytes)
	case documents[0] != documents[1]:
		return fmt.Errorf("two calls with the same blocks give two policies")
	}
	return nil
}
