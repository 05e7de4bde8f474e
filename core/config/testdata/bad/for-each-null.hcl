fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  for_each = null

  scaling {
    min = 1
    max = 2
  }
}
