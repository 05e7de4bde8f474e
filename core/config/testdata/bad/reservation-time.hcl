reservation "r" {
  capacity_class = capacity_class.standard
  quantity       = 4
  start          = "2027-01-10"
  end            = "tomorrow"
}
