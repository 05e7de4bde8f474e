fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  protected = true

  forecast {
    model   = "seasonal-naive"
    version = 1
  }

  scaling {
    min = 1
    max = 2
  }
}
