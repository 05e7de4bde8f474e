moved {
  from = fleet.old
  to   = fleet.old
}
