reservation "r" {
  capacity_class = capacity_class.standard
  quantity       = 4
  start          = "2027-01-10T08:00:00Z"
  end            = "2027-01-10T18:00:00Z"
  fleet          = "demo"
  dedicated      = true
}
