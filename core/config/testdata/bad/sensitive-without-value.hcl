variable "secret" {
  sensitive = true
}
