policy {
  lifetimes = ["stabel"]
}
