scheduler "reviewos" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")

  queue "a" {
    id             = 7
    capacity_class = capacity_class.standard
  }

  queue "a" {
    id             = 8
    capacity_class = capacity_class.standard
  }
}
