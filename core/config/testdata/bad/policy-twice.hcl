policy {}

policy {}
