fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scope {
    tenant  = "a"
    project = "b"
  }

  scaling {
    min = 1
    max = 2
  }
}
