forgeyard {
  installation = "acme-ci"
}

forgeyard {
  installation = "acme-ci"
}
