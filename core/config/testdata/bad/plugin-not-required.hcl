provider "clud" "other" {
  region = "eu-1"
}
