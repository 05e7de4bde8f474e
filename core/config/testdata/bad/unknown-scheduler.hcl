scheduler "reviewos" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")
}
fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scheduler = scheduler.reviewos.mian

  scaling {
    min = 1
    max = 2
  }
}
