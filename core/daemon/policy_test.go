package daemon

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// lawyer is the policy of the plugin that this test binary is.
func lawyer(c notaryConfig, instances []struct{}, installation string) (string, error) {
	return fmt.Sprintf("%s: %d fleets by %s\n", installation, len(instances), c.Certificate), nil
}

const notaries = `
forgeyard {
  installation = "demo"
  required_plugins {
    notary = { version = "~> 1.0" }
  }
}
provider "notary" "main" {
  certificate = "A"
  trap        = "x"
}
provider "notary" "other" {
  certificate = "B"
  trap        = "x"
}
capacity_class "small" {
  trust = "standard"
  platform {
    os   = "linux"
    arch = "x86_64"
  }
  resources {
    cpu    = 1
    memory = "1GiB"
  }
}
image "debian" {
  digest    = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
  refs      = { "notary.other" = "debian" }
  bootstrap = "cloud-init"
}
fleet "one" {
  capacity_class = capacity_class.small
  provider       = provider.notary.other
  image          = image.debian
  instance {}
  scaling {
    min = 1
    max = 1
  }
}
`

func TestProviderPolicyIsWrittenByItsPlugin(t *testing.T) {
	dir, builds, plugins := t.TempDir(), t.TempDir(), t.TempDir()
	run, err := os.MkdirTemp("", "run") // a socket's name is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	if err := os.WriteFile(filepath.Join(dir, "fleet.hcl"), []byte(notaries), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(builds, "forgeyard-plugin-notary"), content, 0o700); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	read := func() workspace.Workspace {
		t.Helper()
		w, err := workspace.Read(dir, plugins, "0.1.0")
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	if _, err := read().InstallBuilds(t.Context(), workspace.PluginOptions{}, builds, run, log); err != nil {
		t.Fatal(err)
	}
	w := read()
	loaded, found := w.Load(config.Variables{})
	if found.HasErrors() {
		t.Fatal(found)
	}
	for name, want := range map[string]string{"notary.main": "demo: 0 fleets by A\n",
		"notary.other": "demo: 1 fleets by B\n"} {
		if got, err := w.Policy(t.Context(), loaded, name, run, log); err != nil || got != want {
			t.Errorf("%s: got %q, %v, wanted %q", name, got, err, want)
		}
	}
	for name, says := range map[string]string{"notary": `say which, as "notary.main"`, "aws": `no block provider "aws"`} {
		if got, err := w.Policy(t.Context(), loaded, name, run, log); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %q, %v, wanted an error that says %q", name, got, err, says)
		}
	}
}
