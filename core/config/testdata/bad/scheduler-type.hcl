scheduler "gitea" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")
}
