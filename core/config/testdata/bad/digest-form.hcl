image "odd" {
  digest    = "sha256:2C26"
  bootstrap = "cloud-init"
  refs      = { cloud = "img" }
}
