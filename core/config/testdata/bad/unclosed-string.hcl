locals {
  a = "text
}
