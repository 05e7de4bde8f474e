variable "secret" {
  default   = "hunter2"
  sensitive = true
}

fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scaling {
    min = strlen(var.secret)
    max = 2
  }
}
