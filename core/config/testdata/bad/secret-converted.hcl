provider "cloud" "other" {
  region = tostring(secret("env:TOKEN"))
}
