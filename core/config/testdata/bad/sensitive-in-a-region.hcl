variable "where" {
  default   = "hunter2"
  sensitive = true
}

provider "cloud" "other" {
  region = "eu-${local.place}"
}

locals {
  place = upper(var.where)
}
