package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
)

// schemas are what the plugins of this repository say of themselves.
type schemas struct {
	plugins map[string]fleet.PluginSchemas
}

func (s schemas) Schemas(plugin string) (fleet.PluginSchemas, error) {
	if known, ok := s.plugins[plugin]; ok {
		return known, nil
	}
	return fleet.PluginSchemas{}, fmt.Errorf("no page may use the plugin %q: it isn't in this repository", plugin)
}

// pluginSchemas builds the plugins, the example's among them, and asks them.
func pluginSchemas(t testing.TB) schemas {
	t.Helper()
	all, err := describePlugins()
	if err != nil {
		t.Fatal(err)
	}
	return schemas{all}
}

var describePlugins = sync.OnceValues(func() (map[string]fleet.PluginSchemas, error) {
	bin, err := os.MkdirTemp("", "forgeyard-docs-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(bin)
	all := map[string]fleet.PluginSchemas{}
	for _, folder := range []string{"plugins/aws/internal/settings/describe", "plugins/libvirt", "plugins/local",
		"plugins/manual", "examples/plugin-process"} {
		described, err := describePlugin(
			filepath.Join(root, filepath.FromSlash(folder)),
			filepath.Join(bin, filepath.Base(folder)),
		)
		if err != nil {
			return nil, fmt.Errorf("ask the plugin in %s what it is: %w", folder, err)
		}
		all[described.Name] = described
	}
	return all, nil
})

// describePlugin builds as the Makefile does, so that both share the build cache.
func describePlugin(folder, binary string) (fleet.PluginSchemas, error) {
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	build.Dir = folder
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if output, err := build.CombinedOutput(); err != nil {
		return fleet.PluginSchemas{}, fmt.Errorf("build it: %w\n%s", err, output)
	}
	description, err := exec.Command(binary, "--describe").Output()
	if err != nil {
		return fleet.PluginSchemas{}, err
	}
	info, err := pluginhost.DecodeInfo(description)
	return info.Schemas, err
}
