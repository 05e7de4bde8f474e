locals {
  a = join(",", 5)
}
