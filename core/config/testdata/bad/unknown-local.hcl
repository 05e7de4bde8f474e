locals {
  network = "net-1"
}

fleet "burst" {
  capacity_class = capacity_class.standard
  provider       = provider.cloud.main

  instance {
    types   = ["m1"]
    network = local.netwrok
  }

  scaling {
    min = 1
    max = 2
  }
}
