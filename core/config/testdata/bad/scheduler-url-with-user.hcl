scheduler "reviewos" "main" {
  url   = "https://u:p@ci.example"
  token = secret("env:TOKEN")
}
