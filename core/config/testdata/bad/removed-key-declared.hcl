removed {
  from = fleet.x["a"]
}

fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  for_each = toset(["a", "b"])

  scaling {
    min = 1
    max = 2
  }
}
