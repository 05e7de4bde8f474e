policy {
  gpu = false
}

capacity_class "gpu" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 4
    memory = "16GiB"
    gpu    = 1
  }
}

fleet "x" {
  capacity_class = capacity_class.gpu
  provider       = provider.bare.rack

  scaling {
    min = 1
    max = 2
  }
}
