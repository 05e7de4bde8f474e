webhook "main" {
  secret = "x"
}
