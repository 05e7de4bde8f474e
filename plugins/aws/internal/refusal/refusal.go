// Package refusal is what the codes of EC2's refusals mean to the host: one table,
// which the documentation shows too.
package refusal

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// Meaning is one line of the table.
type Meaning struct {
	Code  string
	Class provider.Class
	// Fault says that the service failed rather than refused: whether anything was
	// made isn't certain.
	Fault bool
}

// retryAfter is how long a request that was throttled waits: the smallest bucket
// refills in less.
const retryAfter = 5 * time.Second

// Table has every code that the used calls document and that the host treats in
// some way of its own. What isn't here is [provider.Transient] and proves nothing.
var Table = []Meaning{
	{Code: "AuthFailure", Class: provider.Auth},
	{Code: "Blocked", Class: provider.Auth},
	{Code: "ExpiredToken", Class: provider.Auth},
	{Code: "InvalidClientTokenId", Class: provider.Auth},
	{Code: "MissingAuthenticationToken", Class: provider.Auth},
	{Code: "OptInRequired", Class: provider.Auth},
	{Code: "PendingVerification", Class: provider.Auth},
	{Code: "RequestExpired", Class: provider.Auth},
	{Code: "SignatureDoesNotMatch", Class: provider.Auth},
	{Code: "UnrecognizedClientException", Class: provider.Auth},

	{Code: "AccessDenied", Class: provider.Permission},
	{Code: "AccessDeniedException", Class: provider.Permission},
	{Code: "UnauthorizedOperation", Class: provider.Permission},

	{Code: "HostLimitExceeded", Class: provider.Quota},
	{Code: "InstanceLimitExceeded", Class: provider.Quota},
	{Code: "MaxSpotInstanceCountExceeded", Class: provider.Quota},
	{Code: "NetworkInterfaceLimitExceeded", Class: provider.Quota},
	{Code: "SpotMaxPriceTooLow", Class: provider.Quota},
	{Code: "VcpuLimitExceeded", Class: provider.Quota},
	{Code: "VolumeLimitExceeded", Class: provider.Quota},

	{Code: "InsufficientAddressCapacity", Class: provider.Capacity},
	{Code: "InsufficientCapacity", Class: provider.Capacity},
	{Code: "InsufficientFreeAddressesInSubnet", Class: provider.Capacity},
	{Code: "InsufficientHostCapacity", Class: provider.Capacity},
	{Code: "InsufficientInstanceCapacity", Class: provider.Capacity},
	{Code: "InsufficientReservedInstanceCapacity", Class: provider.Capacity},
	{Code: "InsufficientVolumeCapacity", Class: provider.Capacity},
	{Code: "InvalidHost.Occupied", Class: provider.Capacity},
	{Code: "InvalidHostState", Class: provider.Capacity},
	{Code: "ReservationCapacityExceeded", Class: provider.Capacity},
	{Code: "Unsupported", Class: provider.Capacity},
	{Code: "UnsupportedHostConfiguration", Class: provider.Capacity},

	{Code: "EC2ThrottledException", Class: provider.RateLimit},
	{Code: "RequestLimitExceeded", Class: provider.RateLimit},
	{Code: "RequestThrottled", Class: provider.RateLimit},
	{Code: "ResourceCountLimitExceeded", Class: provider.RateLimit},
	{Code: "Throttling", Class: provider.RateLimit},
	{Code: "ThrottlingException", Class: provider.RateLimit},

	{Code: "AWS.SimpleQueueService.NonExistentQueue", Class: provider.Invalid},
	{Code: "InvalidAMIID.Malformed", Class: provider.Invalid},
	{Code: "InvalidAMIID.NotFound", Class: provider.Invalid},
	{Code: "InvalidAMIID.Unavailable", Class: provider.Invalid},
	{Code: "InvalidBlockDeviceMapping", Class: provider.Invalid},
	{Code: "InvalidCapacityReservationId.NotFound", Class: provider.Invalid},
	{Code: "InvalidGroup.NotFound", Class: provider.Invalid},
	{Code: "InvalidGroupId.Malformed", Class: provider.Invalid},
	{Code: "InvalidHostConfiguration", Class: provider.Invalid},
	{Code: "InvalidInstanceType", Class: provider.Invalid},
	{Code: "InvalidKeyPair.NotFound", Class: provider.Invalid},
	{Code: "InvalidLaunchTemplateId.Malformed", Class: provider.Invalid},
	{Code: "InvalidLaunchTemplateId.NotFound", Class: provider.Invalid},
	{Code: "InvalidLaunchTemplateId.VersionNotFound", Class: provider.Invalid},
	{Code: "InvalidLaunchTemplateName.NotFoundException", Class: provider.Invalid},
	{Code: "InvalidParameter", Class: provider.Invalid},
	{Code: "InvalidParameterCombination", Class: provider.Invalid},
	{Code: "InvalidParameterValue", Class: provider.Invalid},
	{Code: "InvalidSubnetID.NotFound", Class: provider.Invalid},
	{Code: "InvalidUserData.Malformed", Class: provider.Invalid},
	{Code: "MissingParameter", Class: provider.Invalid},
	{Code: "QueueDoesNotExist", Class: provider.Invalid},
	{Code: "TagLimitExceeded", Class: provider.Invalid},
	{Code: "UnknownParameter", Class: provider.Invalid},
	{Code: "UnsupportedOperation", Class: provider.Invalid},

	// The key made something else before. Repeating it would never end.
	{Code: "IdempotentParameterMismatch", Class: provider.Conflict, Fault: true},

	// A host that was allocated just now.
	{Code: "InvalidHostID.NotFound", Class: provider.Transient},

	{Code: "InternalError", Class: provider.Transient, Fault: true},
	{Code: "InternalFailure", Class: provider.Transient, Fault: true},
	{Code: "ServiceUnavailable", Class: provider.Transient, Fault: true},
	{Code: "Unavailable", Class: provider.Transient, Fault: true},
}

var byCode = func() map[string]Meaning {
	all := make(map[string]Meaning, len(Table))
	for _, one := range Table {
		all[one.Code] = one
	}
	return all
}()

// Of is the meaning of a code. What isn't known proves nothing.
func Of(code string) Meaning {
	if known, ok := byCode[code]; ok {
		return known
	}
	return Meaning{Code: code, Class: provider.Transient, Fault: true}
}

// RetryAfter is when to ask again; 0: the host knows better.
func (m Meaning) RetryAfter() time.Duration {
	if m.Class == provider.RateLimit {
		return retryAfter
	}
	return 0
}

// Does is what the host does about a class, for the documentation.
func Does(class provider.Class) string { return does[class] }

var does = map[provider.Class]string{
	provider.Auth:       "holds the fleet and tells a person: the credentials aren't good",
	provider.Permission: "holds the fleet and tells a person: the policy lacks something",
	provider.Quota:      "goes to another offer, and to this one again later",
	provider.Capacity:   "goes to another offer, and to this one again later",
	provider.RateLimit:  "waits, and asks again",
	provider.Invalid:    "holds the fleet: its block or its image has to be corrected",
	provider.Conflict:   "holds the instance: its key made something else, a bug that a person has to see",
	provider.Transient:  "looks what exists, waits longer each time, and tries again",
}
