fleet "burst" {
  capacity_class = capacity_class.standard
  provider       = provider.cloud.main

  scaling {
    min = 1
    max = 2
  }
}
