provider "cloud" "other" {
  region = [secret("env:TOKEN")]
}
