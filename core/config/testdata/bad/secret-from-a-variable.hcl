provider "cloud" "other" {
  region = "eu-1"
  token  = secret("env:${local.name}")
}

locals {
  name = "hunter2"
}
