policy {
  entitlement "gold" {
    capacity_class = capacity_class.standard
    tenants        = ["acme"]
  }

  entitlement "gold" {
    capacity_class = capacity_class.standard
    tenants        = ["globex"]
  }
}
