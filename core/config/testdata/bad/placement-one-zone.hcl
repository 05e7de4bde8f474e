fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  placement {
    zones    = ["a"]
    spread   = "zone"
    required = true
  }

  scaling {
    min = 1
    max = 2
  }
}
