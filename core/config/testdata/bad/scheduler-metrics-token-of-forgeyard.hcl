scheduler "forgeyard" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")
  metrics_token = secret("env:OTHER")
}
