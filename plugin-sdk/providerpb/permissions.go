package providerpb

// PermissionsService among the services says that the plugin serves Permissions.
const PermissionsService = "permissions"

// MaxPolicyBytes bounds the document of a policy.
const MaxPolicyBytes = 256 << 10
