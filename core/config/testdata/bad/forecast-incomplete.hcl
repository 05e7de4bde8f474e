fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  forecast {}

  scaling {
    min = 1
    max = 2
  }
}
