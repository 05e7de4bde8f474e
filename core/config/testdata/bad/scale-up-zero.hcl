fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scaling {
    min = 1
    max = 2

    scale_up {
      max_step = 0
      window   = "0s"
    }
  }
}
