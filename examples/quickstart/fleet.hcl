forgeyard {
  installation = "quickstart"

  required_plugins {
    local = { source = "ghcr.io/forgeyard/fleet-local", version = "~> 0.1" }
  }
}

variable "os" {
  type    = string
  default = "linux"
}

variable "arch" {
  type    = string
  default = "x86_64"
}

# Where hosts live; by default a folder under your home.
variable "root" {
  type    = string
  default = null
}

# Where the queue answers.
variable "queue_url" {
  type    = string
  default = "http://127.0.0.1:8640"
}

# Whose jobs run here. The token is in the manager's environment, and nowhere else.
scheduler "forgeyard" "queue" {
  url   = var.queue_url
  token = secret("env:FORGEYARD_QUEUE_TOKEN")
}

# Hosts are processes on this machine.
provider "local" "here" {
  root = var.root
}

capacity_class "small" {
  trust = "standard"

  platform {
    os   = var.os
    arch = var.arch
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
  scheduler      = scheduler.forgeyard.queue

  scaling {
    min           = 0
    max           = 4
    scale_to_zero = true

    # Short, so that there is something to see; ten minutes are usual.
    scale_down {
      idle_grace = "3s"
      cooldown   = "1s"
    }
  }

  # Jobs run as you here; on real hosts leave this out.
  admission {
    job_isolation = "none"
  }
}
