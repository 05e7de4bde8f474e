variable "token" {
  default   = "hunter2"
  sensitive = true
}

provider "cloud" "other" {
  region = "eu-1"
  token  = var.token
}
