scheduler "reviewos" "main" {
  url   = "https://ci.example"
  token = secret("env:TOKEN")

  queue "a" {
    id             = 7
    capacity_class = capacity_class.small
  }

  queue "b" {
    id             = 8
    capacity_class = capacity_class.small
  }
}

capacity_class "small" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 1
    memory = "1GiB"
  }
}
