provider "cloud" "main" {
  region = "eu-2"
}
