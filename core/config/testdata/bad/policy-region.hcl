policy {
  regions = ["eu-1"]
}

fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  placement {
    regions = ["us-1"]
  }

  scaling {
    min = 1
    max = 2
  }
}
