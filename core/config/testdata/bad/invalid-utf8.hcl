locals {
  # café
  a = 1
}
