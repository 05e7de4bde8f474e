fleet "burst" {
  capacity_class = capacity_class.standard
  provider       = provider.cloud.main

  instance {
    types = ["m1"]

    disk {
      sise = 10
    }

    disk {
      size = "ten"
    }

    console {
    }

    console {
    }
  }

  scaling {
    min = 1
    max = 2
  }
}
