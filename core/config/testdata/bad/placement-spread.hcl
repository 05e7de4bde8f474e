fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  placement {
    spread = "zones"
  }

  scaling {
    min = 1
    max = 2
  }
}
