forgeyard {
  installation = "acme_ci"
}
