forgeyard {
  installation = "first"

  required_plugins {
    local = { source = "ghcr.io/forgeyard/fleet-local", version = "~> 0.1" }
  }
}

# Hosts are processes on this machine: nothing to rent, nothing to configure.
provider "local" "here" {
}

capacity_class "small" {
  trust = "standard"

  platform {
    os   = "@OS@"
    arch = "@ARCH@"
  }

  resources {
    cpu    = 1
    memory = "512MiB"
    slots  = 1
  }
}

fleet "demo" {
  capacity_class = capacity_class.small
  provider       = provider.local.here

  instance {
  }

  scaling {
    min = 2
    max = 4
  }

  # What a runner does once it is admitted. Without a scheduler one run of the
  # command is one job; it is run again and again.
  runner {
    command = ["sh", "-c", "echo working; sleep 5"]
  }

  # Jobs run as you here. On real hosts leave this out: then a host is admitted
  # only if jobs can't reach the agent's files.
  admission {
    job_isolation = "none"
  }
}
