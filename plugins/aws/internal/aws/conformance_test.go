package aws

import (
	"context"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider/providertest"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

// The rules of the contract against an account that shows few things on a page.
func TestItKeepsTheRulesOfTheContract(t *testing.T) {
	l := newLab(t, ec2sim.Options{LargestPage: 5})
	tested := plugin("0.1.0", l.surroundings())
	tested.ListSettle = 100 * time.Millisecond // the kit waits for it again and again, and this account's lists don't lag
	providertest.Run(t, tested, providertest.Options{
		Provider: map[string]any{"region": "us-east-1"},
		Instance: map[string]any{"instance_types": []any{"c7i.large"}, "subnets": []any{subnet}, "security_groups": []any{group}},
		Image:    image, OS: "linux", Arch: "x86_64", AllowCreate: true,
		Outage: func(context.Context) (func(context.Context) error, error) {
			l.down.Store(true)
			return func(context.Context) error { l.down.Store(false); return nil }, nil
		},
	})
}
