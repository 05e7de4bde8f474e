fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scaling {
    min = 1
    max = 2

    scale_down {
      idle_grace = "-1m"
      cooldown   = 5
      max_step   = -2
    }
  }
}
