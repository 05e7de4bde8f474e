moved {
  from = fleet.a
  to   = fleet.b
}

moved {
  from = fleet.b
  to   = fleet.c
}
