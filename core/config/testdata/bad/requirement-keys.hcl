forgeyard {
  installation = "acme-ci"

  required_plugins {
    cloud = { sauce = "registry.example/cloud", version = "one" }
    other = { source = "registry.example/cloud:1.2", env = ["CLOUD_PROFILE=x"], allow_unsigned = "yes" }
    third = "~> 0.1"
  }
}
