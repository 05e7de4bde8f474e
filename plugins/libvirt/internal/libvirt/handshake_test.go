package libvirt

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The built plugin under the rules of the contract, over the real handshake.
func TestTheBuiltPluginKeepsTheRulesAsItIsLaunched(t *testing.T) {
	t.Parallel()
	needLong(t)
	s := newStory(t)
	file := filepath.Join(s.dir, "kit.hcl")
	text := fmt.Sprintf(`provider "libvirt" "test" {
  shutdown = "0s"

  host {
    name   = "a"
    uri    = %q
    vcpus  = 64
    memory = "64GiB"
  }
}

instance {
  vcpus     = 1
  memory    = "64MiB"
  network   = "user"
  machine   = "pc"
  emulation = "always"
}

test {
  image    = "pool:default/base.qcow2"
  patience = "2m"

  platform {
    os   = "linux"
    arch = "x86_64"
  }
}
`, s.lab.uri())
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s.fleet("plugin", "test", filepath.Join(s.bin, "forgeyard-plugin-libvirt"), "--config", file, "--allow-create")
	s.lab.shouldBeEmpty(t)
}
