capacity_class "odd" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "amd64"
  }

  resources {
    cpu    = 4
    memory = "16GiB"
  }
}
