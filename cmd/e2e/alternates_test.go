//go:build linux

package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

const alternates = `forgeyard {
  installation = "e2e"

  manager {
    listen = "127.0.0.1:@PORT@"
  }

  required_plugins {
    aws     = { source = "ghcr.io/forgeyard/fleet-aws", version = "~> 0.1", env = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_EC2_METADATA_DISABLED"] }
    libvirt = { source = "ghcr.io/forgeyard/fleet-libvirt", version = "~> 0.1" }
  }
}

provider "aws" "virginia" {
  region   = "us-east-1"
  endpoint = "@ACCOUNT@"
}

provider "libvirt" "rack" {
  advertise = "https://10.0.2.2:@PORT@"
  shutdown  = "60s"

  host {
    name = "a"
    uri  = "@URI@"
  }
}

scheduler "forgeyard" "queue" {
  url   = "@QUEUE@"
  token = secret("file:@TOKEN@")
}

image "runner" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "file"
  refs      = { aws = "ami-0a000000000000001", libvirt = "pool:default/base.qcow2" }
}

capacity_class "small" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 1
    memory = "256MiB"
    slots  = 1
  }
}

fleet "cloud" {
  capacity_class = capacity_class.small
  image          = image.runner
  provider       = provider.aws.virginia
  scheduler      = scheduler.forgeyard.queue
  lifetime_class = "stable"

  instance {
    instance_types  = ["c7i.large"]
    subnets         = ["subnet-0a000000000000001"]
    security_groups = ["sg-0a000000000000001"]
  }

  scaling {
    min           = 0
    max           = 2
    scale_to_zero = true

    scale_down {
      idle_grace = "1s"
      cooldown   = "1s"
    }
  }

  cost {
    hourly = "0.09 USD"
  }

  admission {
    job_isolation = "none"
    identity      = "none"
  }
}

fleet "rack" {
  capacity_class = capacity_class.small
  image          = image.runner
  provider       = provider.libvirt.rack
  scheduler      = scheduler.forgeyard.queue

  instance {
    vcpus        = 1
    memory       = "256MiB"
    network      = "user"
    emulation    = "@EMULATION@"
    kernel       = "@GUEST@/vmlinuz"
    initrd       = "@GUEST@/initrd"
    command_line = "console=ttyS0 quiet panic=1"
  }

  scaling {
    min           = 0
    max           = 1
    scale_to_zero = true

    scale_down {
      idle_grace = "1s"
      cooldown   = "1s"
    }
  }

  cost {
    hourly = "0.5 USD"
  }

  admission {
    job_isolation = "none"
  }
}
`

// door lets jobs in guests wait: they ask it over their network until it is open.
type door struct {
	url  string
	open atomic.Bool
}

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !d.open.Load() {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	d.url = asGuest(server.URL)
	return d
}

// asGuest is a loopback address of this machine as a guest with user networking
// reaches it.
func asGuest(url string) string { return strings.Replace(url, "127.0.0.1", "10.0.2.2", 1) }

// freeAddress is a loopback address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// offers says whether explain has an offer of a fleet with this condition.
func (w *workspace) offers(fleet, offer, condition string) bool {
	w.t.Helper()
	for line := range strings.Lines(w.fleet(0, "explain", fleet).out) {
		if strings.Contains(line, offer) && strings.Contains(line, condition) {
			return true
		}
	}
	return false
}

// The cheaper fleet's provider has no room, so its breaker opens and the job goes to
// the other provider, with the reason for a person to read.
func TestWhereAWSHasNoRoomLibvirtTakesTheJobAndExplainSaysWhy(t *testing.T) {
	t.Parallel()
	w := newClouds(t)
	rack := w.hypervisor()
	cloud := w.account("-capacity", "c7i.large,us-east-1a,on-demand=0")
	address := freeAddress(t)
	q := &queue{w: w, url: "http://" + address}
	q.command = w.queueCommand("serve", "--listen", address, "--url", asGuest(q.url))
	q.command.mustSay("This is a reference scheduler")
	q.command.limit.Stop()
	_, port, _ := net.SplitHostPort(freeAddress(t))
	w.write(
		strings.NewReplacer("@PORT@", port, "@ACCOUNT@", cloud.url, "@URI@", rack.uri, "@GUEST@", rack.guest, "@EMULATION@",
			emulation(),
			"@QUEUE@", q.url, "@TOKEN@", w.path("queue.token")).
			Replace(alternates),
	)
	w.install()
	w.apply(0) // so that the manager knows where guests reach it
	daemon := w.served()
	daemon.limit.Stop()

	// Nothing is asked of a provider before its offers are known.
	eventually(t, "see what both providers offer", func() bool {
		return w.offers("cloud", "c7i.large stable", "usable") && w.offers("rack", "machine stable", "usable")
	})

	gate := newDoor(t)
	q.run(
		"submit",
		"--os",
		"linux",
		"--trust",
		"standard",
		"--cpu",
		"1",
		"--",
		"sh",
		"-c",
		"until wget -q -O /dev/null "+gate.url+"; do sleep 1; done",
	)
	within(
		t,
		longPatience,
		"see the job run in a guest",
		func() bool { return len(rack.guests()) == 1 && q.jobs()[0].State == "leased" },
	)
	for command, texts := range map[string][]string{
		"explain cloud": {"no capacity since", "scale_up", "scale up 0 → 1: 1 job queued, 1 more runner needed"},
		"explain rack":  {"has 1 instance of 1 desired", "demand   → 1"},
		"events":        {"provision not_created", "InsufficientInstanceCapacity", "rack", "healthy: all"},
	} {
		out := w.fleet(0, strings.Fields(command)...).out
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("%s doesn't say %q:\n%s", command, text, out)
			}
		}
	}
	if !w.offers("cloud", "us-east-1a c7i.large stable", "no capacity since") {
		t.Error("explain doesn't say which offer has no capacity")
	}
	if all := cloud.machines(); len(all) > 0 {
		t.Errorf("there was no room, and there are %v", all)
	}

	gate.open.Store(true)
	within(t, longPatience, "see the job over", q.over)
	if job := q.jobs()[0]; job.State != "succeeded" || job.Attempts != 1 {
		t.Errorf("the job is %+v", job)
	}
	within(
		t,
		longPatience,
		"see both fleets empty again",
		func() bool { return len(rack.guests()) == 0 && len(w.instances()) == 0 },
	)
	daemon.stop()
	q.command.stop()
}
