moved {
  from = fleet.c
  to   = fleet.b
}

moved {
  from = fleet.b
  to   = fleet.c
}

moved {
  from = fleet.a
  to   = fleet.b1
}

moved {
  from = fleet.b1
  to   = fleet.c1
}

moved {
  from = fleet.c1
  to   = fleet.a
}
