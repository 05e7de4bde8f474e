fleet "burst" {
  capacity_class = capacity_class.standard
  provider       = provider.cloud

  instance {
    types = ["m1"]
  }

  scaling {
    min = 1
    max = 2
  }
}
