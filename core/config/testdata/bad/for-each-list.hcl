fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  for_each = ["a", "b"]

  scaling {
    min = 1
    max = 2
  }
}
