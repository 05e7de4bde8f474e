fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  forecast {
    model   = "lstm"
    version = 1
  }

  scaling {
    min = 1
    max = 2
  }
}
