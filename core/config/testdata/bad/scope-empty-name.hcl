fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scope {
    tenant = ""
  }

  scaling {
    min = 1
    max = 2
  }
}
