locals {
  big = 1e300 * 1e300
}
