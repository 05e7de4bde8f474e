fleet "burst" {
  capacity_class = capacity_class.standard
  image          = image.ubuntu-24
  provider       = provider.cloud.main

  instance {
    types = ["m1"]
  }

  scaling {
    min = 1
    max = 2
  }
}
