package libvirt

import (
	"context"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider/providertest"
)

// The rules of the contract against a real daemon and real machines.
func TestItKeepsTheRulesOfTheContract(t *testing.T) {
	t.Parallel()
	needLong(t)
	l := newLab(t)
	providertest.Run(t, Plugin("0.1.0"), providertest.Options{
		Provider: map[string]any{"shutdown": "0s", "host": []any{map[string]any{
			"name": "a", "uri": l.uri(), "pool": "default", "vcpus": 64, "memory": "64GiB",
		}}},
		Instance: map[string]any{
			"vcpus": 1, "memory": "64MiB", "network": "user", "machine": "pc", "emulation": "always",
		},
		Image: "pool:default/base.qcow2", OS: "linux", Arch: "x86_64",
		AllowCreate: true, Patience: 2 * time.Minute,
		// As when the daemon is stopped for an update.
		Outage: func(context.Context) (func(context.Context) error, error) {
			l.tell(t, "signal 9")
			l.tell(t, "ended")
			return func(context.Context) error { l.tell(t, "start"); return nil }, nil
		},
	})
	l.shouldBeEmpty(t)
}
