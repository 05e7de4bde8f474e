policy {
  entitlement "gold" {
    capacity_class = capacity_class.standart
    tenants        = ["acme"]
  }

  entitlement "silver" {
    tenants = ["acme"]
  }
}
