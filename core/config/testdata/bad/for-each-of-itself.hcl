fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  for_each = { a = each.key }

  scaling {
    min = 1
    max = 2
  }
}
