# A fleet that follows the jobs of a queue, from no host at all to eight.
#
#   export FORGEYARD_QUEUE_TOKEN=…            the same for queue and manager
#   forgeyard-queue serve --listen 127.0.0.1:8640
#   forgeyard-fleet serve
#   forgeyard-fleet apply
#   forgeyard-queue submit --url http://127.0.0.1:8640 --os linux --cpu 1 -- go version
forgeyard {
  installation = "queue"

  required_plugins {
    local = { source = "ghcr.io/forgeyard/fleet-local", version = "~> 0.1" }
  }
}

# The token is in the manager's environment; the file has its name alone.
scheduler "forgeyard" "queue" {
  url   = "http://127.0.0.1:8640"
  token = secret("env:FORGEYARD_QUEUE_TOKEN")
}

provider "local" "here" {
}

# What a host has, and so which jobs it can take: the queue gives it two at once
# that take a processor each.
capacity_class "builder" {
  capabilities = ["git"]
  trust        = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 2
    memory = "4GiB"
    slots  = 2
  }
}

fleet "builders" {
  capacity_class = capacity_class.builder
  provider       = provider.local.here
  scheduler      = scheduler.forgeyard.queue

  scaling {
    min           = 0
    max           = 8
    scale_to_zero = true

    # A burst of short jobs must not make eight hosts at once.
    scale_up {
      max_step = 4
      window   = "1m"
    }

    scale_down {
      idle_grace = "10m"
      cooldown   = "2m"
      max_step   = 2
    }
  }

  # The host leaves after so many jobs, and a fresh one comes if there is work.
  runner {
    max_jobs = 50
  }

  # Jobs run as the agent's own user here. On hosts of their own leave this out.
  admission {
    job_isolation = "none"
  }
}
