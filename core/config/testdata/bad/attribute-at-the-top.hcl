region = "eu-1"
