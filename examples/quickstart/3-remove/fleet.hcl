forgeyard {
  installation = "quickstart"

  required_plugins {
    local = { version = "~> 0.1" }
  }
}

variable "root" {
  type    = string
  default = null
}

provider "local" "here" {
  root = var.root
}

# The fleet is no longer declared; this takes it away. Every runner leaves after
# its job.
removed {
  from = fleet.demo
}
