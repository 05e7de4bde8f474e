policy {
  entitlement "gold" {
    capacity_class = capacity_class.standard
    tenants        = ["acme"]
  }
}

scheduler "reviewos" "main" {
  url   = "https://reviewos.example"
  token = secret("env:REVIEWOS_TOKEN")

  queue "everybody" {
    id             = 7
    capacity_class = capacity_class.standard
  }
}
