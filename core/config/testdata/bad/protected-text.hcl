fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  protected = "sure"

  scaling {
    min = 1
    max = 2
  }
}
