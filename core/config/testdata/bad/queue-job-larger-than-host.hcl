scheduler "reviewos" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")

  queue "a" {
    id             = 7
    capacity_class = capacity_class.standard

    job {
      cpu    = 8
      memory = "1TiB"
    }
  }
}
