capacity_class "c" {
  for_each = toset(["a"])
  trust    = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 1
    memory = "1GiB"
  }
}
