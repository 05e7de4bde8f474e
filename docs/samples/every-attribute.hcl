# Every block with every attribute. Made from the reference by "go generate ./cmd/docs"; a test compares.

forgeyard {
  installation     = "acme-ci"
  required_version = ">= 0.1"

  required_plugins {
    local = {
      source         = "ghcr.io/forgeyard/fleet-local"
      version        = "~> 0.1"
      env            = ["XDG_STATE_HOME"]
      allow_unsigned = false
    }
  }

  manager {
    listen    = "127.0.0.1:7443"
    advertise = "https://127.0.0.1:7443"
    agents    = "/opt/forgeyard/agents"
  }
}

variable "most" {
  description = "How many instances may run."
  type        = number
  default     = 4
  sensitive   = false

  validation {
    condition     = var.most > 0
    error_message = "At least one."
  }
}

locals {
  command = ["sh", "-c", "echo working; sleep 5"]
}

scheduler "reviewos" "main" {
  url           = "https://reviewos.example"
  token         = secret("env:REVIEWOS_TOKEN")
  metrics_token = secret("file:/etc/acme-ci/metrics-token")

  queue "linux-x64-large" {
    id             = 7
    capacity_class = capacity_class.small
    pool           = "deployment"
    tenant         = "acme"
    project        = "acme/web"
    preemptible    = true
    hostile        = false
    labels         = ["ubuntu-latest", "self-hosted"]
    tags           = { region = "eu" }

    job {
      cpu    = 0.5
      memory = "256MiB"
      disk   = "1GiB"
    }
  }
}

provider "local" "here" {
  advertise = "https://127.0.0.1:7443"
  root      = "/var/lib/acme-ci"
}

image "workstation" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "file"
  refs      = { "local.here" = "workstation" }
}

capacity_class "small" {
  trust        = "standard"
  capabilities = ["git"]
  toolchain    = ["go-1.26"]
  device       = "android"
  isolation    = "vm"
  signing      = false
  confidential = false

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 1
    memory = "512MiB"
    disk   = "10GiB"
    slots  = 1
    gpu    = 0
    named  = { fpga = 2 }
  }
}

fleet "demo" {
  capacity_class = capacity_class.small
  provider       = provider.local.here
  image          = image.workstation
  scheduler      = scheduler.reviewos.main
  lifetime_class = "stable"
  protected      = false
  batch          = 1

  instance {
    nice = 10
  }

  scope {
    tenant = "acme"
  }

  scaling {
    min           = 1
    max           = var.most
    warm          = 2
    scale_to_zero = false

    scale_up {
      max_step = 5
      window   = "1m"
    }

    scale_down {
      idle_grace = "10m"
      cooldown   = "5m"
      max_step   = 2
    }

    schedule "office-hours" {
      cron     = "0 8 * * 1-5"
      duration = "10h"
      timezone = "Europe/Berlin"
      warm     = 4
    }
  }

  runner {
    command  = local.command
    env      = { LANG = "C.UTF-8" }
    user     = "ci"
    cleanup  = ["sh", "-c", "rm -rf /tmp/*"]
    max_jobs = 100
    max_age  = "7d"
  }

  timeouts {
    provision   = "10m"
    boot        = "5m"
    enroll      = "3m"
    heartbeat   = "2m"
    drain       = "2h"
    terminate   = "15m"
    quarantine  = "1d"
    lost_grace  = "15m"
    max_offline = "7d"
  }

  admission {
    job_isolation = "none"
    match_address = false
    identity      = "none"
  }

  placement {
    regions  = ["eu-central-1"]
    zones    = ["eu-central-1a", "eu-central-1b"]
    spread   = "zone"
    required = true
  }

  rollout {
    canary      = 1
    soak        = "15m"
    surge       = 1
    unavailable = 1
  }

  cost {
    hourly         = "0.192 USD"
    minimum        = "1m"
    billing_period = "1s"
    max_hourly     = "5 USD"
    max_daily      = "60 USD"
  }

  forecast {
    model   = "seasonal-naive"
    version = 1
  }
}

fleet "team" {
  for_each       = toset(["docs", "web"])
  capacity_class = capacity_class.small
  provider       = provider.local.here

  scope {
    project = "acme/web"
  }

  scaling {
    min           = 0
    max           = 2
    scale_to_zero = true
    max_wait      = "10m"
  }

  runner {
    env = { TEAM = each.key }
  }

  placement {
    regions = ["eu-central-1"]
  }
}

reservation "release-1-0" {
  capacity_class = capacity_class.small
  quantity       = 4
  start          = "2027-01-10T08:00:00Z"
  end            = "2027-01-10T18:00:00Z"
  lead_time      = "15m"
  fleet          = fleet.demo
  dedicated      = false

  scope {
    tenant = "acme"
  }
}

reservation "benchmarks" {
  capacity_class = capacity_class.small
  quantity       = 1
  start          = "2027-02-01T09:00:00+01:00"
  end            = "2027-02-05T18:00:00+01:00"

  scope {
    project = "acme/web"
  }
}

policy {
  providers         = ["local"]
  regions           = ["eu-central-1"]
  lifetimes         = ["stable"]
  gpu               = false
  hostile_isolation = "vm"

  entitlement "release-instances" {
    capacity_class = capacity_class.small
    tenants        = ["acme"]
    projects       = ["acme/docs", "acme/web"]
    max            = 40
  }
}

removed {
  from = fleet.legacy
}

moved {
  from = fleet.legacy-docs
  to   = fleet.team["docs"]
}
