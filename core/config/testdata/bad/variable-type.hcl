variable "size" {
  type    = nmber
  default = 1
}
