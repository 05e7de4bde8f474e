variable "size" {
  type    = number
  default = 9

  validation {
    condition     = var.size < 5
    error_message = "A size is below 5, and ${var.size} is not."
  }
}
