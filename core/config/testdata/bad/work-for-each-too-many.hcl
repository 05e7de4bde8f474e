fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  for_each = toset(flatten([for a in local.digits : [for b in local.digits : [for c in local.digits : [for d in local.digits : [for e in ["1", "2", "3"] : "${a}${b}${c}${d}${e}"]]]]]))

  scaling {
    min = 1
    max = 2
  }
}

locals {
  digits = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
}
