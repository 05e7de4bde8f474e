# Two fleets to ask what they would have done with the jobs of a day:
#
#   forgeyard-fleet plugin install
#   forgeyard-fleet simulate --trace day.csv
#
# Nothing is started. docs/simulate.md tells how to read what it says.
forgeyard {
  installation = "what-if"

  required_plugins {
    local = { source = "ghcr.io/forgeyard/fleet-local", version = "~> 0.1" }
  }
}

variable "warm" {
  type        = number
  default     = 0
  description = "Hosts of the standard fleet that are kept ready."
}

scheduler "forgeyard" "ci" {
  url   = "http://127.0.0.1:8640"
  token = secret("env:FORGEYARD_QUEUE_TOKEN")
}

provider "local" "here" {
}

capacity_class "standard" {
  capabilities = ["docker", "git"]
  trust        = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 4
    memory = "16GiB"
    slots  = 4
  }
}

capacity_class "large" {
  capabilities = ["docker", "git"]
  trust        = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 16
    memory = "64GiB"
    slots  = 2
  }
}

fleet "standard" {
  capacity_class = capacity_class.standard
  provider       = provider.local.here
  scheduler      = scheduler.forgeyard.ci

  scaling {
    min           = 0
    max           = 30
    warm          = var.warm
    scale_to_zero = true
  }

  cost {
    hourly  = "0.192 USD"
    minimum = "1m"
  }
}

fleet "large" {
  capacity_class = capacity_class.large
  provider       = provider.local.here
  scheduler      = scheduler.forgeyard.ci

  scaling {
    min           = 0
    max           = 6
    scale_to_zero = true
  }

  cost {
    hourly  = "0.768 USD"
    minimum = "1m"
  }
}
