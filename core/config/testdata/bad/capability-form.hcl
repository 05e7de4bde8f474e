capacity_class "odd" {
  trust        = "standard"
  capabilities = ["docker", "Git 2"]

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 4
    memory = "16GiB"
  }
}
