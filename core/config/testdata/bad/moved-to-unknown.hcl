moved {
  from = fleet.old
  to   = fleet.steedy
}
