fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  scaling {
    min = 1
    max = 2

    schedule "s" {
      cron     = "0 25 * * *"
      duration = "1h"
      warm     = 2
    }
  }
}
