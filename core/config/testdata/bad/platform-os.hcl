capacity_class "odd" {
  trust = "standard"

  platform {
    os   = "linus"
    arch = "x86_64"
  }

  resources {
    cpu    = 4
    memory = "16GiB"
  }
}
