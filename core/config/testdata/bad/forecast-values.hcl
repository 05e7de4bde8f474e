fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  forecast {
    model   = "Time of Day"
    version = 70000
  }

  scaling {
    min = 1
    max = 2
  }
}
