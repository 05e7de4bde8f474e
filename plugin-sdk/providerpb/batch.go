package providerpb

// BatchService among the services says that the plugin serves BatchProvisioner.
const BatchService = "batch"
