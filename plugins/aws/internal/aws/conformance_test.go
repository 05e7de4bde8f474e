package aws

import (
	"context"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider/providertest"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/rate"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// The rules of the contract against an account that shows few things on a page.
func TestItKeepsTheRulesOfTheContract(t *testing.T) {
	const page = 5
	l := newLab(t, ec2sim.Options{LargestPage: page})
	tested := unlimited(plugin("0.1.0", l.surroundings()))
	tested.ListSettle = 100 * time.Millisecond // the kit waits for it again and again, and this account's lists don't lag
	providertest.Run(t, tested, providertest.Options{
		Provider: map[string]any{"region": "us-east-1"},
		Instance: map[string]any{"instance_types": []any{"c7i.large"}, "subnets": []any{subnet},
			"security_groups": []any{group}},
		Image: image, OS: "linux", Arch: "x86_64", AllowCreate: true,
		PageSize: page,
		Count: func(context.Context) (running int, _ error) {
			for _, machine := range l.Machines() {
				if machine.State != "terminated" {
					running++
				}
			}
			return running, nil
		},
		Outage: func(context.Context) (func(context.Context) error, error) {
			l.down.Store(true)
			return func(context.Context) error { l.down.Store(false); return nil }, nil
		},
	})
}

// unlimited is the plugin without the vendor's rates, for an account that has none:
// the kit makes and lists more in a moment than a manager does.
func unlimited(
	tested provider.Plugin[settings.Config, settings.Instance]) provider.Plugin[settings.Config, settings.Instance] {
	start := tested.New
	tested.New = func(ctx context.Context, config settings.Config, environment provider.Environment) (
		provider.Provider[settings.Instance], error) {
		started, err := start(ctx, config, environment)
		if p, ok := started.(*cloud); ok {
			endless := func() *rate.Bucket { return rate.NewBucket(1e6, 1e6) }
			p.limits = limits{launching: endless(), instances: endless(), describing: endless(), mutating: endless(),
				reading: endless()}
		}
		return started, err
	}
	return tested
}
