policy {
  lifetimes = ["stable"]
}

fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  lifetime_class = "preemptible"

  scaling {
    min = 1
    max = 2
  }
}
