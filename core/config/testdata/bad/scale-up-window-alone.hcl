fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scaling {
    min = 1
    max = 2

    scale_up {
      window = "1m"
    }
  }
}
