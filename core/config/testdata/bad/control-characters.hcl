locals {
  a = nothing["[31m"]
}
