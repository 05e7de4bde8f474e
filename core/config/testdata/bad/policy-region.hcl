forgeyard {
  installation = "acme-ci"

  required_plugins {
    bare = { version = "~> 0.1" }
  }
}

provider "bare" "rack" {}

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

policy {
  regions = ["eu-1"]
}

fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  placement {
    regions = ["eu-1", "us-1"]
  }

  scaling {
    min = 1
    max = 2
  }
}
