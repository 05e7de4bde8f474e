fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.cloud.main

  instance {
    types   = ["m1"]
    network = secret("env:NETWORK")
  }

  scaling {
    min = 1
    max = 2
  }
}
