fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  protected = true

  scaling {
    min           = 0
    scale_to_zero = true
    max = 2
  }
}
