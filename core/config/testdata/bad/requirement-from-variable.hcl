variable "version" {
  default = "~> 0.1"
}

forgeyard {
  installation = "acme-ci"

  required_plugins {
    cloud = { version = var.version }
  }
}
