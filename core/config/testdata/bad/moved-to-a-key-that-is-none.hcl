moved {
  from = fleet.old
  to   = fleet.steady["a"]
}
