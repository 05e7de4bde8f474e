removed {
  from = "fleet.old"
}

removed {
  from = image.old
}

removed {
}
