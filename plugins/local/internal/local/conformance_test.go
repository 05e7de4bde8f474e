//go:build linux || darwin

package local

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider/providertest"
)

func TestItKeepsTheRulesOfTheContract(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root")
	away := root + "-away"
	providertest.Run(t, Plugin("0.1.0"), providertest.Options{
		Provider:    map[string]any{"root": root, "runner": self},
		Instance:    map[string]any{"env": map[string]string{playVariable: playWell}},
		AllowCreate: true,
		// As when the disk with the root isn't mounted.
		Outage: func(context.Context) (func(context.Context) error, error) {
			mend := func(context.Context) error { return os.Rename(away, root) }
			return mend, os.Rename(root, away)
		},
	})
}
