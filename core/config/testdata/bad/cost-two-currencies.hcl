fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  cost {
    hourly     = "1 USD"
    max_hourly = "5 EUR"
  }

  scaling {
    min = 1
    max = 2
  }
}
