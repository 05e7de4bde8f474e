variable "secret" {
  type      = number
  default   = "hunter2"
  sensitive = true
}
