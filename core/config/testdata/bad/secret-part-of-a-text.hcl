provider "cloud" "other" {
  region = "eu-1"
  token  = "Bearer ${secret("env:TOKEN")}"
}
