fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  lifetime_class = "spot"

  scaling {
    min = 1
    max = 2
  }
}
