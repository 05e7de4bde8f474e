fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack

  runner {
    env = { TOKEN = secret("env:TOKEN") }
  }

  scaling {
    min = 1
    max = 2
  }
}
