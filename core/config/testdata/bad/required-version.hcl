forgeyard {
  installation     = "acme-ci"
  required_version = "about 1"
}
