forgeyard {
  installation = "quickstart"

  required_plugins {
    local = { version = "~> 0.1" }
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

# Hosts are processes on this machine.
provider "local" "here" {
  root = var.root
}

capacity_class "small" {
  capabilities = ["git"]
  trust        = "standard"

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

  instance {
  }

  scaling {
    min = 2
    max = 4
  }

  # Without a scheduler one run of the command is one job.
  runner {
    command = ["sh", "-c", "echo working; sleep 1"]
  }

  # Jobs run as you here; on real hosts leave this out.
  admission {
    job_isolation = "none"
  }
}
