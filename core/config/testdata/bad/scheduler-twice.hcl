scheduler "reviewos" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")
}
scheduler "reviewos" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")
}
