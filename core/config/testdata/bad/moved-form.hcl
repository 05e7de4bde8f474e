moved {
  from = "fleet.old"
  to   = provider.cloud.main
}
