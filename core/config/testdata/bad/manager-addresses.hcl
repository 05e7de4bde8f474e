forgeyard {
  installation = "acme-ci"

  manager {
    listen    = "7443"
    advertise = "http://fleet.example:7443"
  }
}
