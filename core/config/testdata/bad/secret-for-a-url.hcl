scheduler "reviewos" "main" {
  url   = secret("env:URL")
  token = secret("env:TOKEN")
}
