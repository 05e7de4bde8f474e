scheduler "reviewos" "main" {
  url   = "http://ci.example"
  token = secret("env:TOKEN")
}
