provider "cloud" "other" {
  region = "eu-1"
  token  = secret("file:token")
}
