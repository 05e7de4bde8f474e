fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  protected = true

  scaling {
    min = 1
    max = 2

    schedule "s" {
      cron     = "0 8 * * *"
      duration = "1h"
      warm     = 2
    }
  }
}
