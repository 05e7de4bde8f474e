# Hosts that exist already: each is joined by a person, with the line that
# `forgeyard-fleet token create --join HOST` prints.
forgeyard {
  installation = "lab"

  # Where the hosts reach the manager. Without this block it is this machine alone.
  manager {
    listen    = "0.0.0.0:7443"
    advertise = "https://fleet.lab.example:7443"
  }

  required_plugins {
    manual = { source = "ghcr.io/forgeyard/fleet-manual", version = "~> 0.1" }
  }
}

provider "manual" "lab" {
  host {
    name    = "lin-1"
    address = "10.0.0.11"
    labels  = { disk = "ssd" }
  }

  host {
    name   = "lin-2"
    labels = { disk = "hdd" }
    notes  = "under the desk"
  }

  host {
    name = "mac-mini-1"
    os   = "darwin"
    arch = "arm64"
  }
}

capacity_class "linux" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 4
    memory = "8GiB"
  }
}

capacity_class "mac" {
  trust = "standard"

  platform {
    os   = "darwin"
    arch = "arm64"
  }

  resources {
    cpu    = 8
    memory = "16GiB"
  }
}

# Any Linux host with an SSD.
fleet "linux" {
  capacity_class = capacity_class.linux
  provider       = provider.manual.lab

  instance {
    labels = { disk = "ssd" }
  }

  scaling {
    min = 1
    max = 4
  }

  runner {
    command = ["sh", "-c", "echo working; sleep 5"]
  }

  admission {
    job_isolation = "none"
  }
}

# This one Mac.
fleet "mac" {
  capacity_class = capacity_class.mac
  provider       = provider.manual.lab

  instance {
    hosts = ["mac-mini-1"]
  }

  scaling {
    min           = 0
    max           = 1
    scale_to_zero = true
  }

  runner {
    command = ["sh", "-c", "echo working; sleep 5"]
  }

  admission {
    job_isolation = "none"
  }
}
