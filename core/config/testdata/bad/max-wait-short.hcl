fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scaling {
    min           = 0
    scale_to_zero = true
    max_wait      = "1m"
    max = 2
  }
}
