//go:build linux

package e2e

import (
	"strings"
	"testing"
)

const checkedFile = `
forgeyard {
  installation = "e2e"

  required_plugins {
    aws = {
      source  = "ghcr.io/forgeyard/fleet-aws"
      version = "~> 0.1"
      env     = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_EC2_METADATA_DISABLED"]
    }
  }
}

provider "aws" "virginia" {
  region   = "us-east-1"
  endpoint = "@ACCOUNT@"
}

image "runner" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "file"
  refs      = { aws = "@IMAGE@" }
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

fleet "demo" {
  capacity_class = capacity_class.small
  provider       = provider.aws.virginia
  image          = image.runner

  instance {
    instance_types  = ["c7i.large"]
    subnets         = ["@SUBNET@"]
    security_groups = ["sg-0a000000000000001"]
  }

  scaling {
    min = 1
    max = 1
  }

  runner {
    command = ["true"]
  }
}
`

// A plugin is asked before anything is made whether the account has what a block names.
func TestAPlanSaysWhatTheAccountLacks(t *testing.T) {
	t.Parallel()
	w := newClouds(t)
	cloud := w.account()
	write := func(account, image, subnet string) {
		w.write(strings.NewReplacer("@ACCOUNT@", account, "@IMAGE@", image, "@SUBNET@", subnet).Replace(checkedFile))
	}
	const ami, subnet = "ami-0a000000000000001", "subnet-0a000000000000001"
	write(cloud.url, ami, subnet)
	w.install()
	if r := w.fleet(0, "plan"); strings.Contains(r.out+r.err, "can't be") {
		t.Errorf("a plan of what is there: %s%s", r.out, r.err)
	}
	write(cloud.url, ami, "subnet-0b000000000000009")
	for _, command := range [][]string{{"plan"}, {"apply", "--auto-approve"}} {
		r := w.fleet(1, command...)
		for _, piece := range []string{"A subnet can't be used", "subnet-0b000000000000009", "on fleet.hcl:"} {
			if !strings.Contains(r.err, piece) {
				t.Errorf("%s lacks %q: %s", command[0], piece, r.err)
			}
		}
	}
	write(cloud.url, "ami-0b000000000000009", subnet)
	if r := w.fleet(1, "plan"); !strings.Contains(r.err, "The image can't be used") {
		t.Errorf("an image that isn't there: %s", r.err)
	}
	w.fleet(0, "validate") // which asks no infrastructure
	// A plan is made without a network, too.
	cloud.command.kill()
	write(cloud.url, "ami-0c000000000000009", subnet)
	if r := w.fleet(0, "plan"); !strings.Contains(r.err, "The instance blocks can't be checked now") {
		t.Errorf("without the account: %s%s", r.out, r.err)
	}
}
