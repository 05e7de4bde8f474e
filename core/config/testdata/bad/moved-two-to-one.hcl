moved {
  from = fleet.a
  to   = fleet.steady
}

moved {
  from = fleet.b
  to   = fleet.steady
}
