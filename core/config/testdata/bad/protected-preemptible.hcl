fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  lifetime_class = "preemptible"
  protected      = true

  scaling {
    min = 1
    max = 2
  }
}
