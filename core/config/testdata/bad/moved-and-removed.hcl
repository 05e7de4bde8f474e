removed {
  from = fleet.old
}

moved {
  from = fleet.old
  to   = fleet.steady
}
