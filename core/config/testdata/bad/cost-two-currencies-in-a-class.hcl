fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  cost {
    hourly = "1 USD"
  }

  scaling {
    min = 1
    max = 2
  }
}

fleet "y" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  cost {
    hourly    = "1 EUR"
    max_daily = "9 EUR"
  }

  scaling {
    min = 1
    max = 2
  }
}
