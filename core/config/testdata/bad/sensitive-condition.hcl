variable "secret" {
  default   = "hunter2"
  sensitive = true

  validation {
    condition     = var.secret
    error_message = "never"
  }
}
