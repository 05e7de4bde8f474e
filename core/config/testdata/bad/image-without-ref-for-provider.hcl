fleet "burst" {
  capacity_class = capacity_class.standard
  image          = image.ubuntu
  provider       = provider.bare.rack

  instance {
    
  }

  scaling {
    min = 1
    max = 2
  }
}
