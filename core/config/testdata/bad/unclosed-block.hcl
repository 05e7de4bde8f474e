fleet "burst" {
  capacity_class = capacity_class.standard
