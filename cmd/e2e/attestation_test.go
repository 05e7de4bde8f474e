//go:build linux

package e2e

import (
	"strings"
	"testing"
)

const vouchedFile = `
forgeyard {
  installation = "e2e"

  required_plugins {
    manual = { source = "ghcr.io/forgeyard/fleet-manual", version = "~> 0.1" }
  }
}

provider "manual" "lab" {
  host {
    name    = "signer"
    attests = ["signing"]
  }

  host {
    name = "other"
  }
}

capacity_class "signing" {
  trust   = "standard"
  signing = true

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 1
    memory = "1GiB"
  }
}

fleet "demo" {
  capacity_class = capacity_class.signing
  provider       = provider.manual.lab
  protected      = true

  instance {
    hosts = ["@HOST@"]
  }

  scaling {
    min = 1
    max = 1
  }
}
`

// A class that the hosts of its fleet can't be attested is refused with the lines of
// both, before a person joins one of them.
func TestAClassThatNoHostIsVouchedForIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(strings.ReplaceAll(vouchedFile, "@HOST@", "signer"))
	w.install()
	w.fleet(0, "validate", "--plugins")
	w.fleet(0, "plan")
	w.write(strings.ReplaceAll(vouchedFile, "@HOST@", "other"))
	w.fleet(0, "validate") // which starts no plugin
	for _, command := range [][]string{{"validate", "--plugins"}, {"plan"}, {"apply", "--auto-approve"}} {
		r := w.fleet(1, command...)
		for _, piece := range []string{"These instances can't be attested signing", `capacity_class "signing"`,
			"fleet.hcl:21",
			"attests of no host that the fleet may take has signing"} {
			if !strings.Contains(r.err, piece) {
				t.Errorf("%s lacks %q: %s", command[0], piece, r.err)
			}
		}
	}
	w.write(strings.NewReplacer("@HOST@", "signer", "signing = true", "confidential = true").Replace(vouchedFile))
	if r := w.fleet(1, "validate", "--plugins"); !strings.Contains(r.err, "can't be attested confidential") {
		t.Errorf("another promise: %s", r.err)
	}
}
