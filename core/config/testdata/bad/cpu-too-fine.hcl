capacity_class "odd" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 0.0005
    memory = "16GiB"
  }
}
