capacity_class "c" {
  trust     = "standard"
  device    = "Android Phone"
  isolation = "V M"
  signing   = "perhaps"
  toolchain = [""]

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 1
    memory = "1GiB"
    gpu    = 5000
    named  = { FPGA = 1, licence = 0, other = "x" }
  }
}
