fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  for_each = toset([1, 2])

  scaling {
    min = 1
    max = 2
  }
}
