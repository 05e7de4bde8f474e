removed {
  from = fleet.old
}

removed {
  from = fleet.old
}
