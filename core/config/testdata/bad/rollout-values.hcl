fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  rollout {
    canary = -1
    soak   = "15 minutes"
  }

  scaling {
    min = 1
    max = 2
  }
}
