fleet "burst" {
  capacity_class = capacity_class.standard
  provider       = provider.cloud.main

  instance {
    types   = ["m1", ["m2"]]
    cpus    = 1.5
    spot    = "maybe"
    ratio   = "x"
    boot    = "soon"
    labels  = ["a"]
    network = null
    shape   = { cores = "two", tread = 1 }
    options = "x"
  }

  scaling {
    min = 1
    max = 2
  }
}
