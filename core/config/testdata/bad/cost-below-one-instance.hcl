fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  cost {
    hourly     = "2 USD"
    max_hourly = "1.5 USD"
  }

  scaling {
    min = 1
    max = 2
  }
}
