provider "cloud" "other" {
  region = "eu-1"
  retry  = secret("env:RETRY")
}
