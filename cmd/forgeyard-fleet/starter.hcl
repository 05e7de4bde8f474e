forgeyard {
  installation = "first"

  required_plugins {
    local = { source = "ghcr.io/forgeyard/fleet-local", version = "~> 0.1" }
  }
}

# Instances are processes on this machine. Nothing has to be rented or configured.
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

  # The command that a runner executes once it is admitted. Without a scheduler each
  # execution counts as one job, and the command is executed repeatedly.
  runner {
    command = ["sh", "-c", "echo working; sleep 5"]
  }

  # Jobs run as your user here. Remove this on real machines: then an instance is
  # admitted only if jobs can't access the agent's files.
  admission {
    job_isolation = "none"
  }
}
