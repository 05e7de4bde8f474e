fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  placement {
    spread   = "provider"
    required = true
  }

  scaling {
    min = 1
    max = 2
  }
}

fleet "y" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  placement {
    spread = "provider"
  }

  scaling {
    min = 1
    max = 2
  }
}
