policy {
  entitlement "gold" {
    capacity_class = capacity_class.standard
    tenants        = ["acme"]
    max            = 0
  }
}
