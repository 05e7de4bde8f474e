scheduler "reviewos" "main" {
  url   = "ci.example"
  token = secret("env:TOKEN")
}
