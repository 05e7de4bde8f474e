provider "cloud" "other" {
  region = "eu-1"
  token  = "hunter2"
}
