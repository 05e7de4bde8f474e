variable "secret" {
  default   = "hunter2"
  sensitive = true

  validation {
    condition     = strlen(var.secret) > 10
    error_message = "${var.secret} is too short"
  }
}
