image "odd" {
  bootstrap = "cloud-init"
}
