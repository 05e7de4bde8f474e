variable "token" {
  default = secret("env:TOKEN")
}
