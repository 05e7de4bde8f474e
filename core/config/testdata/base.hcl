# What every file in bad/ is added to, unless it has a forgeyard block itself.
forgeyard {
  installation = "acme-ci"

  required_plugins {
    cloud = { source = "registry.example/forgeyard/fleet-cloud", version = "~> 0.1", env = ["CLOUD_PROFILE"] }
    bare  = { version = "~> 0.1" }
  }
}

provider "cloud" "main" {
  region = "eu-1"
}

provider "bare" "rack" {}

image "ubuntu" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "cloud-init"
  refs      = { cloud = "img-1" }
}

capacity_class "standard" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 4
    memory = "16GiB"
  }
}

fleet "steady" {
  capacity_class = capacity_class.standard
  image          = image.ubuntu
  provider       = provider.cloud.main

  instance {
    types = ["m1"]
  }

  scaling {
    min = 1
    max = 2
  }
}
