moved {
  from = fleet.steady
  to   = fleet.x
}

fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scaling {
    min = 1
    max = 2
  }
}
