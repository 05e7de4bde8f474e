locals {
  b = local.c
  c = "${local.a}-c"
  a = [local.b]
}
