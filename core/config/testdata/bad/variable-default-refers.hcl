locals {
  a = 1
}

variable "size" {
  default = local.a
}
