forgeyard {
  required_version = ">= 0.1"
  installation     = "acme-ci"

  manager {
    listen    = "0.0.0.0:7443"
    advertise = "https://fleet.acme.example:7443"
  }

  required_plugins {
    aws   = { source = "ghcr.io/forgeyard/fleet-aws", version = "~> 0.1", env = ["AWS_PROFILE"] }
    local = { source = "ghcr.io/forgeyard/fleet-local", version = "~> 0.1" }
  }
}

scheduler "reviewos" "main" {
  url           = "https://reviewos.example"
  token         = secret("env:REVIEWOS_TOKEN")
  metrics_token = secret("env:REVIEWOS_METRICS_TOKEN")

  queue "linux-x64-large" {
    id             = 7
    capacity_class = capacity_class.linux-x86_64-standard

    job {
      cpu    = 4
      memory = "16GiB"
    }
  }
}

provider "aws" "frankfurt" {
  region = "eu-central-1"
}

image "ubuntu-24" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "cloud-init"
  refs = {
    "aws.frankfurt" = "ami-0abc"
    "libvirt"       = "pool:runners/ubuntu-24.qcow2"
  }
}

capacity_class "linux-x86_64-standard" {
  capabilities = ["docker", "git"]
  trust        = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 4
    memory = "16GiB"
    disk   = "100GiB"
    slots  = 1
  }
}

fleet "linux-burst" {
  capacity_class = capacity_class.linux-x86_64-standard
  image          = image.ubuntu-24
  provider       = provider.aws.frankfurt
  scheduler      = scheduler.reviewos.main
  lifetime_class = "preemptible"

  scope { tenant = "acme" }

  instance {
    types   = ["m7i.xlarge", "m7a.xlarge"]
    subnets = ["subnet-a", "subnet-b"]
  }

  scaling {
    min           = 0
    max           = 20
    warm          = 1
    scale_to_zero = true

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
    max_jobs = 1
    max_age  = "24h"
  }

  placement {
    regions = ["eu-central-1"]
    zones   = ["eu-central-1a", "eu-central-1b"]
    spread  = "zone"
  }

  rollout {
    canary      = 1
    soak        = "15m"
    surge       = 1
    unavailable = 1
  }

  timeouts {
    provision  = "10m"
    boot       = "5m"
    enroll     = "3m"
    heartbeat  = "2m"
    drain      = "2h"
    terminate  = "15m"
    quarantine = "24h"
  }

  cost {
    hourly         = "0.192 USD"
    minimum        = "1m"
    billing_period = "1s"
    max_hourly     = "5 USD"
    max_daily      = "60 USD"
  }
}

reservation "release-1-0" {
  capacity_class = capacity_class.linux-x86_64-standard
  quantity       = 4
  start          = "2027-01-10T08:00:00Z"
  end            = "2027-01-10T18:00:00Z"
  lead_time      = "15m"

  scope { tenant = "acme" }
}

removed {
  from = fleet.legacy
}

moved {
  from = fleet.old
  to   = fleet.linux-burst
}
