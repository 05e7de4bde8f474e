removed {
  from = fleet.steady
}
