fleet "burst" {
  capacity_class = capacity_class.standard
  provider       = provider.cloud.main

  instance {
    types = ["m1"]
  }

  scaling {
    min = 1
    max = 2
  }

  timeouts {
    boot      = "5 minutes"
    enroll    = "3"
    heartbeat = "500ms"
    drain     = "-2h"
    terminate = "0s"
    provision = 600
  }
}
