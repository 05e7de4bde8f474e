scheduler "forgeyard" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")

  queue "q" {
    id             = 1
    capacity_class = capacity_class.standard
  }
}
