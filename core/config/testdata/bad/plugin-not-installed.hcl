forgeyard {
  installation = "acme-ci"

  required_plugins {
    missing = { version = "~> 0.1" }
  }
}

provider "missing" "one" {
}
