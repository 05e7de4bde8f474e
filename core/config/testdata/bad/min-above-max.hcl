fleet "burst" {
  capacity_class = capacity_class.standard
  provider       = provider.cloud.main

  instance {
    types = ["m1"]
  }

  scaling {
    min = 5
    max = 2
  }
}
