fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  placement {
    regions = [""]
  }

  scaling {
    min = 1
    max = 2
  }
}
