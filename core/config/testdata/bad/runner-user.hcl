fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  runner {
    user    = "root; rm"
    cleanup = []
  }

  scaling {
    min = 1
    max = 2
  }
}
