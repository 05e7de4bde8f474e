scheduler "reviewos" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")

  queue "a" {
    id             = 0
    capacity_class = capacity_class.standard
  }
}
