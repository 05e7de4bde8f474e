reservation "r" {
  capacity_class = capacity_class.standard
  quantity       = 4
  start          = "0000-01-01T00:00:00+12:00"
  end            = "9999-12-31T23:59:59-12:00"
}
