locals {
  most = 5
}

variable "size" {
  default = 9

  validation {
    condition     = var.size < local.most
    error_message = "Too large."
  }
}
