scheduler "reviewos" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")

  queue "q" {}
}
