locals {
  token = secret("env:TOKEN")
}
