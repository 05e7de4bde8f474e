fleet "burst" {
  capacity_class = image.ubuntu
  provider       = provider.cloud.main

  instance {
    types = ["m1"]
  }

  scaling {
    min = 1
    max = 2
  }
}
