capacity_class "odd" {
  trust = "standard"

  resources {
    cpu    = 1
    memory = "1GiB"
  }
}
