fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  cost {
    minimum = "1h"
  }

  scaling {
    min = 1
    max = 2
  }
}
