package workspace

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

// lockedAs is a lock's entry of that version.
func lockedAs(name, version string) pluginstore.LockedPlugin {
	digest := "sha256:" + strings.Repeat("a", 64)
	return pluginstore.LockedPlugin{
		Name:     name,
		Source:   "registry.example/acme/" + name,
		Version:  version,
		Protocol: 1,
		Index:    digest,
		Binaries: map[string]string{pluginstore.HostPlatform(): digest},
	}
}

// Each command read the lock, fetched for minutes, and wrote the lock whole.
func TestTwoInstallsAtOnceKeepEachOthersLocks(t *testing.T) {
	plugins, err := pluginstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := Workspace{Dir: t.TempDir(), Bundle: Bundle{Plugins: plugins}}
	for _, name := range []string{"aws", "gcp"} {
		w.Requirements.Plugins = append(w.Requirements.Plugins, fleet.PluginRequirement{Name: name})
	}
	locking := func(version string, meanwhile func()) error {
		_, err := w.lockEach(
			t.Context(),
			PluginOptions{Names: []string{"aws"}},
			func(r pluginstore.Required) (pluginstore.Installed, error) {
				meanwhile()
				return pluginstore.Installed{LockedPlugin: lockedAs(r.Name, version)}, nil
			},
		)
		return err
	}
	err = locking("1.0.0", func() {
		if _, err := w.lockEach(
			t.Context(),
			PluginOptions{Names: []string{"gcp"}},
			func(r pluginstore.Required) (pluginstore.Installed, error) {
				return pluginstore.Installed{LockedPlugin: lockedAs(r.Name, "2.0.0")}, nil
			},
		); err != nil {
			t.Error(err)
		}
	})
	lock, readErr := pluginstore.ReadLock(w.lockPath())
	if err != nil || readErr != nil || len(lock.Plugins) != 2 {
		t.Fatalf("%s\n%v, %v", lock.Bytes(), err, readErr)
	}

	// About the same plugin the first one counts, and the second one is told.
	w.Lock = lock
	err = locking("1.1.0", func() {
		if err := locking("1.2.0", func() {}); err != nil {
			t.Error(err)
		}
	})
	if lock, readErr = pluginstore.ReadLock(w.lockPath()); readErr != nil {
		t.Fatal(readErr)
	}
	if aws, _ := lock.Plugin("aws"); err == nil || !strings.Contains(err.Error(), "1.2.0") || aws.Version != "1.2.0" {
		t.Errorf("locked %s, %v", aws.Version, err)
	}
}
