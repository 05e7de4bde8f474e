variable "a" {
  default = 1
}

variable "a" {
  default = 2
}
