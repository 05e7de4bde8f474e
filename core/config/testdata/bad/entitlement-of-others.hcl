policy {
  entitlement "gold" {
    capacity_class = capacity_class.standard
    tenants        = ["acme"]
  }
}

fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scope {
    tenant = "globex"
  }

  scaling {
    min = 1
    max = 2
  }
}
