fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  rollout {
    surge       = 0
    unavailable = 0
  }

  scaling {
    min = 1
    max = 2
  }
}
