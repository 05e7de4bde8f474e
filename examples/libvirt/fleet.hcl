forgeyard {
  installation = "libvirt-demo"

  manager {
    listen = "127.0.0.1:${var.port}"
  }

  required_plugins {
    libvirt = { source = "ghcr.io/forgeyard/fleet-libvirt", version = "~> 0.1" }
  }
}

variable "port" {
  description = "Where guests find the manager on this machine."
  type        = number
  default     = 7443
}

variable "uri" {
  description = "The libvirt daemon of this machine."
  type        = string
  default     = "qemu:///system"
}

variable "guest" {
  description = "Folder with the kernel and the initial file system that guest.sh makes."
  type        = string
  default     = "/var/lib/libvirt/forgeyard-guest"
}

variable "emulation" {
  description = "\"always\" where /dev/kvm is there and doesn't work."
  type        = string
  default     = "auto"
}

# Guests have user networking, so they find this machine at 10.0.2.2.
provider "libvirt" "here" {
  advertise = "https://10.0.2.2:${var.port}"

  host {
    name = "here"
    uri  = var.uri
  }
}

# The guest boots its kernel directly; its disk is an overlay of an empty one.
image "tiny" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "file"
  refs      = { libvirt = "pool:default/base.qcow2" }
}

capacity_class "tiny" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 1
    memory = "256MiB"
  }
}

fleet "guests" {
  capacity_class = capacity_class.tiny
  image          = image.tiny
  provider       = provider.libvirt.here

  instance {
    vcpus        = 1
    memory       = "256MiB"
    network      = "user"
    emulation    = var.emulation
    kernel       = "${var.guest}/vmlinuz"
    initrd       = "${var.guest}/initrd"
    command_line = "console=ttyS0 quiet panic=1"
  }

  scaling {
    min = 1
    max = 1
  }

  runner {
    command = ["sh", "-c", "echo working; sleep 2"]
  }

  # The tiny guest has no user but root; on a real image leave this out.
  admission {
    job_isolation = "none"
  }
}
