capacity_class "signer" {
  trust   = "signing"
  signing = true

  platform {
    os   = "darwin"
    arch = "arm64"
  }

  resources {
    cpu    = 4
    memory = "16GiB"
  }
}

fleet "x" {
  capacity_class = capacity_class.signer
  provider       = provider.bare.rack

  scaling {
    min = 1
    max = 2
  }
}
