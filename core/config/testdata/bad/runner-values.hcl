fleet "burst" {
  capacity_class = capacity_class.standard
  provider       = provider.cloud.main

  instance {
    types = ["m1"]
  }

  scaling {
    min = 1
    max = 2
  }

  runner {
    command  = []
    env      = { "1x" = "a" }
    max_jobs = 0
    max_age  = "1y"
  }
}
