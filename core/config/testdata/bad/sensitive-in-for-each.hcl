variable "secret" {
  default   = "hunter2"
  sensitive = true
}

fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  for_each = toset([var.secret])

  scaling {
    min = 1
    max = 2
  }
}
