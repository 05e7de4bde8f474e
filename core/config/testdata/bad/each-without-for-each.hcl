fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  runner {
    command = [each.key]
  }

  scaling {
    min = 1
    max = 2
  }
}
