// Package refusal is what the codes of the vendor's refusals mean to the host: one
// table, which the documentation shows too.
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

// Table has every code that the used calls of EC2, SQS, Pricing, Service Quotas and STS
// document. What isn't here is [provider.Transient] and proves nothing.
var Table = []Meaning{
	{Code: "AWSServiceAccessNotEnabledException", Class: provider.Auth},
	{Code: "AuthFailure", Class: provider.Auth},
	{Code: "Blocked", Class: provider.Auth},
	{Code: "ExpiredToken", Class: provider.Auth},
	{Code: "ExpiredTokenException", Class: provider.Auth},
	{Code: "IDPRejectedClaim", Class: provider.Auth},
	{Code: "IncompleteSignature", Class: provider.Auth},
	{Code: "IncompleteSignatureException", Class: provider.Auth},
	{Code: "InvalidClientTokenId", Class: provider.Auth},
	{Code: "InvalidIdentityToken", Class: provider.Auth},
	{Code: "InvalidSecurity", Class: provider.Auth},
	{Code: "InvalidSecurity.RequestHasExpired", Class: provider.Auth},
	{Code: "InvalidSignatureException", Class: provider.Auth},
	{Code: "MissingAuthenticationToken", Class: provider.Auth},
	{Code: "MissingAuthenticationTokenException", Class: provider.Auth},
	{Code: "OptInRequired", Class: provider.Auth},
	{Code: "PendingVerification", Class: provider.Auth},
	{Code: "RegionDisabledException", Class: provider.Auth},
	{Code: "RequestExpired", Class: provider.Auth},
	{Code: "SignatureDoesNotMatch", Class: provider.Auth},
	{Code: "SubscriptionRequiredException", Class: provider.Auth},
	{Code: "UnrecognizedClientException", Class: provider.Auth},

	{Code: "AccessDenied", Class: provider.Permission},
	{Code: "AccessDeniedException", Class: provider.Permission},
	{Code: "AccountDisabled", Class: provider.Permission},
	{Code: "CustomerKeyHasBeenRevoked", Class: provider.Permission},
	{Code: "DependencyAccessDeniedException", Class: provider.Permission},
	{Code: "KmsAccessDenied", Class: provider.Permission},
	{Code: "NotAuthorized", Class: provider.Permission},
	{Code: "OperationNotPermitted", Class: provider.Permission},
	{Code: "UnauthorizedOperation", Class: provider.Permission},

	{Code: "HostLimitExceeded", Class: provider.Quota},
	{Code: "InstanceLimitExceeded", Class: provider.Quota},
	{Code: "MaxIOPSLimitExceeded", Class: provider.Quota},
	{Code: "MaxSpotInstanceCountExceeded", Class: provider.Quota},
	{Code: "NetworkInterfaceLimitExceeded", Class: provider.Quota},
	{Code: "ResourceLimitExceeded", Class: provider.Quota},
	{Code: "VcpuLimitExceeded", Class: provider.Quota},
	{Code: "VolumeLimitExceeded", Class: provider.Quota},

	// The spot request stays open, so that a machine may still come of it.
	{Code: "SpotMaxPriceTooLow", Class: provider.Quota, Fault: true},

	{Code: "IncompatibleHostRequirements", Class: provider.Capacity},
	{Code: "InsufficientAddressCapacity", Class: provider.Capacity},
	{Code: "InsufficientCapacity", Class: provider.Capacity},
	{Code: "InsufficientCapacityOnHost", Class: provider.Capacity},
	{Code: "InsufficientFreeAddressesInSubnet", Class: provider.Capacity},
	{Code: "InsufficientHostCapacity", Class: provider.Capacity},
	{Code: "InsufficientInstanceCapacity", Class: provider.Capacity},
	{Code: "InsufficientReservedInstanceCapacity", Class: provider.Capacity},
	{Code: "InsufficientReservedInstancesCapacity", Class: provider.Capacity},
	{Code: "InsufficientVolumeCapacity", Class: provider.Capacity},
	{Code: "InvalidCapacityReservationState", Class: provider.Capacity},
	{Code: "InvalidCapacityReservationState.PendingActivation", Class: provider.Capacity},
	{Code: "InvalidHost.Occupied", Class: provider.Capacity},
	{Code: "InvalidHost.Pending", Class: provider.Capacity},
	{Code: "InvalidHost.Released", Class: provider.Capacity},
	{Code: "InvalidHostState", Class: provider.Capacity},
	{Code: "ReservationCapacityExceeded", Class: provider.Capacity},
	{Code: "UnavailableHostRequirements", Class: provider.Capacity},
	{Code: "UnfulfillableCapacity", Class: provider.Capacity},
	{Code: "Unsupported", Class: provider.Capacity},
	{Code: "UnsupportedHostConfiguration", Class: provider.Capacity},
	{Code: "VolumeTypeNotAvailableInZone", Class: provider.Capacity},

	{Code: "EC2ThrottledException", Class: provider.RateLimit},
	{Code: "KmsThrottled", Class: provider.RateLimit},
	{Code: "OverLimit", Class: provider.RateLimit},
	{Code: "PriorRequestNotComplete", Class: provider.RateLimit},
	{Code: "RequestLimitExceeded", Class: provider.RateLimit},
	{Code: "RequestResourceCountExceeded", Class: provider.RateLimit},
	{Code: "RequestThrottled", Class: provider.RateLimit},
	{Code: "RequestThrottledException", Class: provider.RateLimit},
	{Code: "ResourceCountExceeded", Class: provider.RateLimit},
	{Code: "ResourceCountLimitExceeded", Class: provider.RateLimit},
	{Code: "ThrottledException", Class: provider.RateLimit},
	{Code: "Throttling", Class: provider.RateLimit},
	{Code: "ThrottlingException", Class: provider.RateLimit},
	{Code: "TooManyRequestsException", Class: provider.RateLimit},

	{Code: "AWS.SimpleQueueService.NonExistentQueue", Class: provider.Invalid},
	{Code: "AttachmentLimitExceeded", Class: provider.Invalid},
	{Code: "BootForVolumeTypeUnsupported", Class: provider.Invalid},
	{Code: "ClientInvalidParameterValue", Class: provider.Invalid},
	{Code: "EncryptedVolumesNotSupported", Class: provider.Invalid},
	{Code: "InstanceCreditSpecification.NotSupported", Class: provider.Invalid},
	{Code: "InvalidAMIID.Malformed", Class: provider.Invalid},
	{Code: "InvalidAMIID.NotFound", Class: provider.Invalid},
	{Code: "InvalidAMIID.Unavailable", Class: provider.Invalid},
	{Code: "InvalidAddress", Class: provider.Invalid},
	{Code: "InvalidAffinity", Class: provider.Invalid},
	{Code: "InvalidAttributeValue", Class: provider.Invalid},
	{Code: "InvalidAutoPlacement", Class: provider.Invalid},
	{Code: "InvalidAvailabilityZone", Class: provider.Invalid},
	{Code: "InvalidBlockDeviceMapping", Class: provider.Invalid},
	{Code: "InvalidCapacityReservationId.Malformed", Class: provider.Invalid},
	{Code: "InvalidCapacityReservationId.NotFound", Class: provider.Invalid},
	{Code: "InvalidGroup.NotFound", Class: provider.Invalid},
	{Code: "InvalidGroupId.Malformed", Class: provider.Invalid},
	{Code: "InvalidHostConfiguration", Class: provider.Invalid},
	{Code: "InvalidHostID.Malformed", Class: provider.Invalid},
	{Code: "InvalidHostId", Class: provider.Invalid},
	{Code: "InvalidHostId.Malformed", Class: provider.Invalid},
	{Code: "InvalidIamInstanceProfileArn.Malformed", Class: provider.Invalid},
	{Code: "InvalidInput", Class: provider.Invalid},
	{Code: "InvalidInstanceAttributeValue", Class: provider.Invalid},
	{Code: "InvalidInstanceCreditSpecification", Class: provider.Invalid},
	{Code: "InvalidInstanceFamily", Class: provider.Invalid},
	{Code: "InvalidInstanceID.Malformed", Class: provider.Invalid},
	{Code: "InvalidInstanceType", Class: provider.Invalid},
	{Code: "InvalidInterface.IpAddressLimitExceeded", Class: provider.Invalid},
	{Code: "InvalidKeyPair.NotFound", Class: provider.Invalid},
	{Code: "InvalidLaunchTargets", Class: provider.Invalid},
	{Code: "InvalidLaunchTemplateId.Malformed", Class: provider.Invalid},
	{Code: "InvalidLaunchTemplateId.NotFound", Class: provider.Invalid},
	{Code: "InvalidLaunchTemplateId.VersionNotFound", Class: provider.Invalid},
	{Code: "InvalidLaunchTemplateName.MalformedException", Class: provider.Invalid},
	{Code: "InvalidLaunchTemplateName.NotFoundException", Class: provider.Invalid},
	{Code: "InvalidNetworkInterfaceId.Malformed", Class: provider.Invalid},
	{Code: "InvalidParameter", Class: provider.Invalid},
	{Code: "InvalidParameterCombination", Class: provider.Invalid},
	{Code: "InvalidParameterDependency", Class: provider.Invalid},
	{Code: "InvalidParameterException", Class: provider.Invalid},
	{Code: "InvalidParameterValue", Class: provider.Invalid},
	{Code: "InvalidPlacementGroup.Unknown", Class: provider.Invalid},
	{Code: "InvalidPlacementGroupId.Malformed", Class: provider.Invalid},
	{Code: "InvalidQuantity", Class: provider.Invalid},
	{Code: "InvalidRegion", Class: provider.Invalid},
	{Code: "InvalidRequest", Class: provider.Invalid},
	{Code: "InvalidSecurityGroupID.NotFound", Class: provider.Invalid},
	{Code: "InvalidSecurityGroupId.Malformed", Class: provider.Invalid},
	{Code: "InvalidSnapshot.NotFound", Class: provider.Invalid},
	{Code: "InvalidSnapshotID.Malformed", Class: provider.Invalid},
	{Code: "InvalidSpotInstanceRequestID.Malformed", Class: provider.Invalid},
	{Code: "InvalidSubnet", Class: provider.Invalid},
	{Code: "InvalidSubnetID.Malformed", Class: provider.Invalid},
	{Code: "InvalidSubnetID.NotFound", Class: provider.Invalid},
	{Code: "InvalidSubnetId.NotFound", Class: provider.Invalid},
	{Code: "InvalidTagKey.Malformed", Class: provider.Invalid},
	{Code: "InvalidTenancy", Class: provider.Invalid},
	{Code: "InvalidUserData.Malformed", Class: provider.Invalid},
	{Code: "InvalidVolumeID.Malformed", Class: provider.Invalid},
	{Code: "InvalidVpcID.NotFound", Class: provider.Invalid},
	{Code: "InvalidZone.NotFound", Class: provider.Invalid},
	{Code: "KmsDisabled", Class: provider.Invalid},
	{Code: "KmsInvalidKeyUsage", Class: provider.Invalid},
	{Code: "KmsInvalidState", Class: provider.Invalid},
	{Code: "KmsNotFound", Class: provider.Invalid},
	{Code: "KmsOptInRequired", Class: provider.Invalid},
	{Code: "MissingInput", Class: provider.Invalid},
	{Code: "MissingParameter", Class: provider.Invalid},
	{Code: "NoSuchResourceException", Class: provider.Invalid},
	{Code: "NotFoundException", Class: provider.Invalid},
	{Code: "PrivateIpAddressLimitExceeded", Class: provider.Invalid},
	{Code: "QueueDoesNotExist", Class: provider.Invalid},
	{Code: "ResourceNotFoundException", Class: provider.Invalid},
	{Code: "SecurityGroupLimitExceeded", Class: provider.Invalid},
	{Code: "SecurityGroupsPerInstanceLimitExceeded", Class: provider.Invalid},
	{Code: "SecurityGroupsPerInterfaceLimitExceeded", Class: provider.Invalid},
	{Code: "TagLimitExceeded", Class: provider.Invalid},
	{Code: "TagPolicyViolation", Class: provider.Invalid},
	{Code: "UnknownParameter", Class: provider.Invalid},
	{Code: "UnknownVolumeType", Class: provider.Invalid},
	{Code: "UnsupportedHibernationConfiguration", Class: provider.Invalid},
	{Code: "UnsupportedInstanceAttribute", Class: provider.Invalid},
	{Code: "UnsupportedInstanceTypeOnHost", Class: provider.Invalid},
	{Code: "UnsupportedOperation", Class: provider.Invalid},
	{Code: "UnsupportedTenancy", Class: provider.Invalid},
	{Code: "VPCIdNotSpecified", Class: provider.Invalid},
	{Code: "VPCResourceNotSpecified", Class: provider.Invalid},
	{Code: "ValidationError", Class: provider.Invalid},
	{Code: "ValidationException", Class: provider.Invalid},
	{Code: "VolumeIOPSLimit", Class: provider.Invalid},
	{Code: "ZonesMismatched", Class: provider.Invalid},

	// The key made something else before. Repeating it would never end.
	{Code: "IdempotentParameterMismatch", Class: provider.Conflict, Fault: true},

	// It is gone, or too young to be shown. What a key made that was ended long ago is
	// not made again by it.
	{Code: "IdempotentInstanceTerminated", Class: provider.Transient},
	{Code: "InvalidHostID.NotFound", Class: provider.Transient},
	{Code: "InvalidHostId.NotFound", Class: provider.Transient},
	{Code: "InvalidInstanceID.NotFound", Class: provider.Transient},
	{Code: "InvalidNetworkInterface.NotFound", Class: provider.Transient},
	{Code: "InvalidNetworkInterfaceID.NotFound", Class: provider.Transient},
	{Code: "InvalidSpotInstanceRequestID.NotFound", Class: provider.Transient},
	{Code: "InvalidVolume.NotFound", Class: provider.Transient},

	// The service failed, a list broke off, or something is in the way that passes by.
	{Code: "ConcurrentTagAccess", Class: provider.Transient, Fault: true},
	{Code: "DependencyViolation", Class: provider.Transient, Fault: true},
	{Code: "ExpiredNextTokenException", Class: provider.Transient, Fault: true},
	{Code: "HostMinAllocationPeriodUnexpired", Class: provider.Transient, Fault: true},
	{Code: "IDPCommunicationError", Class: provider.Transient, Fault: true},
	{Code: "IncorrectInstanceState", Class: provider.Transient, Fault: true},
	{Code: "IncorrectSpotRequestState", Class: provider.Transient, Fault: true},
	{Code: "IncorrectState", Class: provider.Transient, Fault: true},
	{Code: "InterfaceInUseByTrafficMirrorSession", Class: provider.Transient, Fault: true},
	{Code: "InterfaceInUseByTrafficMirrorTarget", Class: provider.Transient, Fault: true},
	{Code: "InternalError", Class: provider.Transient, Fault: true},
	{Code: "InternalErrorException", Class: provider.Transient, Fault: true},
	{Code: "InternalFailure", Class: provider.Transient, Fault: true},
	{Code: "InvalidInstanceState", Class: provider.Transient, Fault: true},
	{Code: "InvalidNetworkInterface.InUse", Class: provider.Transient, Fault: true},
	{Code: "InvalidNextToken", Class: provider.Transient, Fault: true},
	{Code: "InvalidNextTokenException", Class: provider.Transient, Fault: true},
	{Code: "InvalidPaginationToken", Class: provider.Transient, Fault: true},
	{Code: "InvalidState", Class: provider.Transient, Fault: true},
	{Code: "RequestTimeout", Class: provider.Transient, Fault: true},
	{Code: "RequestTimeoutException", Class: provider.Transient, Fault: true},
	{Code: "RetryableError", Class: provider.Transient, Fault: true},
	{Code: "ServerInternal", Class: provider.Transient, Fault: true},
	{Code: "ServiceException", Class: provider.Transient, Fault: true},
	{Code: "ServiceUnavailable", Class: provider.Transient, Fault: true},
	{Code: "Unavailable", Class: provider.Transient, Fault: true},
	{Code: "VolumeInUse", Class: provider.Transient, Fault: true},

	// The plugin doesn't send such things.
	{Code: "BatchEntryIdsNotDistinct", Class: provider.Internal, Fault: true},
	{Code: "BatchRequestTooLong", Class: provider.Internal, Fault: true},
	{Code: "EmptyBatchRequest", Class: provider.Internal, Fault: true},
	{Code: "FilterLimitExceeded", Class: provider.Internal, Fault: true},
	{Code: "IllegalArgumentException", Class: provider.Internal, Fault: true},
	{Code: "InvalidAction", Class: provider.Internal, Fault: true},
	{Code: "InvalidAttributeName", Class: provider.Internal, Fault: true},
	{Code: "InvalidBatchEntryId", Class: provider.Internal, Fault: true},
	{Code: "InvalidCharacter", Class: provider.Internal, Fault: true},
	{Code: "InvalidClientToken", Class: provider.Internal, Fault: true},
	{Code: "InvalidFilter", Class: provider.Internal, Fault: true},
	{Code: "InvalidID", Class: provider.Internal, Fault: true},
	{Code: "InvalidIdFormat", Class: provider.Internal, Fault: true},
	{Code: "InvalidMaxResults", Class: provider.Internal, Fault: true},
	{Code: "InvalidQueryParameter", Class: provider.Internal, Fault: true},
	{Code: "InvalidTime", Class: provider.Internal, Fault: true},
	{Code: "MalformedQueryString", Class: provider.Internal, Fault: true},
	{Code: "MissingAction", Class: provider.Internal, Fault: true},
	{Code: "NoSuchVersion", Class: provider.Internal, Fault: true},
	{Code: "ReceiptHandleIsInvalid", Class: provider.Internal, Fault: true},
	{Code: "SerializationException", Class: provider.Internal, Fault: true},
	{Code: "TooManyEntriesInBatchRequest", Class: provider.Internal, Fault: true},
	{Code: "UnknownOperationException", Class: provider.Internal, Fault: true},
	{Code: "UnsupportedProtocol", Class: provider.Internal, Fault: true},
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
	provider.Internal:   "waits longer each time and tries again: a bug of the plugin, which a person has to report",
}
