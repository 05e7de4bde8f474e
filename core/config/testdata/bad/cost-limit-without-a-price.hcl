fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  cost {
    max_daily = "60 USD"
  }

  scaling {
    min = 1
    max = 2
  }
}
