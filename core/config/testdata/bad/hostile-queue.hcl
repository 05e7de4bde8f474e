scheduler "reviewos" "main" {
  url   = "https://reviewos.example"
  token = secret("env:REVIEWOS_TOKEN")

  queue "strangers" {
    id             = 7
    capacity_class = capacity_class.standard
    hostile        = true
  }
}
