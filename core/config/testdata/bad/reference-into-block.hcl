locals {
  digest = image.ubuntu.digest
}
