variable "secret" {
  default   = "hunter2"
  sensitive = true
}

locals {
  number = parseint(var.secret, 10)
}
