fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  cost {
    hourly = "0.192"
  }

  scaling {
    min = 1
    max = 2
  }
}
