policy {
  providers = ["bare"]
}
