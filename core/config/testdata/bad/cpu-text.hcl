capacity_class "odd" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = "four"
    memory = "16GiB"
  }
}
