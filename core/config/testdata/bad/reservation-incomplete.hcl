reservation "r" {}
