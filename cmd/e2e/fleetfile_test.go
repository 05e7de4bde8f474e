//go:build linux

package e2e

import (
	"fmt"
	"runtime"
	"strings"
)

// definition is a fleet file with one fleet, "demo", on this machine.
type definition struct {
	min, max     int
	capabilities string // as a list's items
	instance     string // the instance block's body
	command      string // of a job, as a shell's
	forgeyard    string // more of the forgeyard block
	installation string
	isolation    string // what job_isolation says; empty: none
	pluginEnv    string // names of variables that the plugin gets
	removed      bool   // the fleet is taken away
	image        string // one hexadecimal digit of the image's digest; empty: no image
	soak         string // of a rollout; empty: none
}

func (d definition) String() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x86_64"
	}
	if d.installation == "" {
		d.installation = "e2e"
	}
	if d.command == "" {
		d.command = "exec sleep 0.2"
	}
	if d.isolation == "" {
		d.isolation = "none"
	}
	if d.soak == "" {
		d.soak = "0s"
	}
	image, of := "", ""
	if d.image != "" {
		image = fmt.Sprintf(
			"\nimage \"base\" {\n  digest    = \"sha256:%s\"\n  bootstrap = \"file\"\n  refs      = { local = "+
				"\"base-%s\" }\n}\n",
			strings.Repeat(d.image, 64),
			d.image,
		)
		of = "image = image.base"
	}
	head := fmt.Sprintf(`forgeyard {
  installation = %q

  required_plugins {
    local = { source = "ghcr.io/forgeyard/fleet-local", version = "~> 0.1", env = [%s] }
  }
  %s
}

variable "root" {
  type = string
}

provider "local" "here" {
  root = var.root
}
`, d.installation, d.pluginEnv, d.forgeyard)
	if d.removed {
		return head + "\nremoved {\n  from = fleet.demo\n}\n"
	}
	return head + image +
		strings.NewReplacer("@IMAGE@", of, "@SOAK@", d.soak, "@ARCH@", arch, "@ISOLATION@", d.isolation, "@CAPABILITIES@",
			d.capabilities, "@INSTANCE@", d.instance,
			"@COMMAND@", fmt.Sprintf("%q", d.command), "@MIN@", fmt.Sprint(d.min), "@MAX@", fmt.Sprint(d.max)).
			Replace(demo)
}

const demo = `
capacity_class "small" {
  capabilities = [@CAPABILITIES@]
  trust        = "standard"

  platform {
    os   = "linux"
    arch = "@ARCH@"
  }

  resources {
    cpu    = 1
    memory = "64MiB"
    slots  = 1
  }
}

fleet "demo" {
  capacity_class = capacity_class.small
  provider       = provider.local.here
  @IMAGE@

  instance {
    @INSTANCE@
  }

  scaling {
    min = @MIN@
    max = @MAX@
  }

  rollout {
    soak = "@SOAK@"
  }

  runner {
    command = ["sh", "-c", @COMMAND@]
  }

  admission {
    job_isolation = "@ISOLATION@"
  }
}
`
