package providerpb

// CheckService among the services says that the plugin serves Checker.
const CheckService = "check"
