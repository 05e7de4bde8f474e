policy {
  regions = ["eu-1", "eu-2"]
}
