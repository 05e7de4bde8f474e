policy {
  providers = ["cloud", "bare", "clod"]
}
