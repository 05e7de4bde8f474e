forgeyard {
  required_version = ">= 0.1"
  installation     = "acme-ci"

  manager {
    listen    = "0.0.0.0:7443"
    advertise = "https://fleet.acme.example:${local.port}"
    agents    = "agents"
  }

  required_plugins {
    cloud = {
      source         = "registry.example/forgeyard/fleet-cloud"
      version        = "~> 0.1"
      env            = ["CLOUD_PROFILE"]
      allow_unsigned = true
    }
    bare = { version = ">= 0.1, < 2" }
  }
}

variable "sizes" {
  description = "How many hosts each team may have."
  type        = object({ most = number, warm = optional(number, 1) })
  default     = { most = 20 }

  validation {
    condition     = var.sizes.most > 0
    error_message = "At least one."
  }
}

locals {
  port    = 7443
  network = upper("net-${local.zone}")
  zone    = "a"
  class   = capacity_class.linux-x86_64-standard
}

provider "cloud" "frankfurt" {
  region = "eu-1"
  retry  = "2m"
}

provider "bare" "rack" {}

image "ubuntu-24" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "cloud-init"
  refs = {
    "cloud.frankfurt" = "img-0abc"
    "bare"            = "pool:ubuntu-24"
  }
}

capacity_class "linux-x86_64-standard" {
  capabilities = ["git", "docker", "git"]
  trust        = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 0.5
    memory = "1.5GiB"
    disk   = "100GiB"
    slots  = 2
  }
}

fleet "linux-burst" {
  capacity_class = local.class
  image          = image.ubuntu-24
  provider       = provider.cloud.frankfurt

  instance {
    types   = ["m1", "m2"]
    network = local.network
    ratio   = 0.1
    spot    = true
    boot    = "1h30m"
    labels  = { team = "a&b" }
    options = { limit = "5" }
    shape   = { cores = 4 }

    disk {
      size = 10
    }

    disk {
      size = 20
      kind = "slow"
    }

    console {}
  }

  scaling {
    min           = 0
    max           = var.sizes.most
    warm          = var.sizes.warm
    scale_to_zero = true
  }

  runner {
    command  = ["/usr/bin/make", "test"]
    env      = { CI = true }
    max_jobs = 1
    max_age  = "1d"
  }

  timeouts {
    provision  = "11m"
    heartbeat  = "10s"
    lost_grace = "20m"
  }

  admission {
    match_address = true
    job_isolation = "none"
  }
}

fleet "bare" {
  capacity_class = capacity_class.linux-x86_64-standard
  provider       = provider.bare.rack

  scaling {
    min = 2
    max = 2
  }
}

removed {
  from = fleet.legacy
}
