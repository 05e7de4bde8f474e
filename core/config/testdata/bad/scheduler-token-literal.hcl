scheduler "reviewos" "main" {
  url   = "https://ci.example"
  token = "hunter2"
}
