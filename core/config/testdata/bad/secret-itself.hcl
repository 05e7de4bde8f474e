provider "cloud" "other" {
  region = "eu-1"
  token  = secret("hunter2")
}
