scheduler "reviewos" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")

  queue "a" {
    id             = 7
    capacity_class = capacity_class.standard
  }

  queue "b" {
    id             = 7
    capacity_class = capacity_class.standard
  }
}
