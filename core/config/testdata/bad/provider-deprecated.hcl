provider "cloud" "other" {
  region = "eu-1"
  zone   = "a"
}
