fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  cost {
    hourly = "0.0000001 USD"
  }

  scaling {
    min = 1
    max = 2
  }
}
