forgeyard {
  installation = "aws-demo"

  required_plugins {
    aws = { source = "ghcr.io/forgeyard/fleet-aws", version = "~> 0.1", env = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] }
  }
}

variable "endpoint" {
  description = "Where a simulated account answers. Left out: AWS itself."
  type        = string
  default     = null
}

variable "certificate" {
  description = "The region's RSA-2048 certificate for instance identity documents, in PEM. Left out: hosts join by their single-use token alone."
  type        = string
  default     = null
}

variable "image" {
  description = "An AMI with the agent in it, that hands its user data to it."
  type        = string
  default     = "ami-0a000000000000001"
}

variable "subnets" {
  description = "One in each zone that may be used."
  type        = list(string)
  default     = ["subnet-0a000000000000001", "subnet-0a000000000000002"]
}

variable "security_groups" {
  description = "They need no way in: agents call the manager."
  type        = list(string)
  default     = ["sg-0a000000000000001"]
}

provider "aws" "virginia" {
  region               = "us-east-1"
  endpoint             = var.endpoint
  identity_certificate = var.certificate
}

image "runner" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "file"
  refs      = { aws = var.image }
}

capacity_class "small" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 2
    memory = "4GiB"
    slots  = 2
  }
}

# Machines that aren't interrupted, of whichever type and zone is cheapest and has room.
fleet "stable" {
  capacity_class = capacity_class.small
  image          = image.runner
  provider       = provider.aws.virginia

  instance {
    instance_types  = ["c7i.large", "m7i.large"]
    subnets         = var.subnets
    security_groups = var.security_groups
  }

  scaling {
    min = 1
    max = 4
  }

  runner {
    command = ["sh", "-c", "echo working; sleep 1"]
  }

  # Simulated machines are processes of the user that runs the demo; on real ones leave this out.
  admission {
    job_isolation = "none"
  }
}

# The same on the spot market: cheaper, and taken away with two minutes of notice.
fleet "spot" {
  capacity_class = capacity_class.small
  image          = image.runner
  provider       = provider.aws.virginia
  lifetime_class = "preemptible"

  instance {
    instance_types  = ["c7i.large", "m7i.large"]
    subnets         = var.subnets
    security_groups = var.security_groups
  }

  scaling {
    min = 1
    max = 4
  }

  runner {
    command = ["sh", "-c", "echo working; sleep 1"]
  }

  admission {
    job_isolation = "none"
  }
}
