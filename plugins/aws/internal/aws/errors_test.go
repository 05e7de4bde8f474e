package aws

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	pricing "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	servicequotas "github.com/aws/aws-sdk-go-v2/service/servicequotas/types"
	sqs "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	sts "github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/refusal"
)

// EC2's codes are words of its documentation; those of the others the SDK knows.
func TestEveryErrorThatTheSDKKnowsOfTheUsedCallsIsInTheTable(t *testing.T) {
	for _, known := range []smithy.APIError{
		// ReceiveMessage, DeleteMessageBatch, GetQueueAttributes
		&sqs.InvalidAddress{}, &sqs.InvalidSecurity{}, &sqs.KmsAccessDenied{}, &sqs.KmsDisabled{}, &sqs.KmsInvalidKeyUsage{},
		&sqs.KmsInvalidState{},
		&sqs.KmsNotFound{}, &sqs.KmsOptInRequired{}, &sqs.KmsThrottled{}, &sqs.OverLimit{}, &sqs.QueueDoesNotExist{},
		&sqs.RequestThrottled{},
		&sqs.UnsupportedOperation{}, &sqs.BatchEntryIdsNotDistinct{}, &sqs.EmptyBatchRequest{}, &sqs.InvalidBatchEntryId{},
		&sqs.TooManyEntriesInBatchRequest{}, &sqs.InvalidAttributeName{}, &sqs.InvalidIdFormat{},
		&sqs.ReceiptHandleIsInvalid{}, &sqs.BatchRequestTooLong{},
		// GetProducts
		&pricing.AccessDeniedException{}, &pricing.ExpiredNextTokenException{}, &pricing.InternalErrorException{},
		&pricing.InvalidNextTokenException{},
		&pricing.InvalidParameterException{}, &pricing.NotFoundException{}, &pricing.ResourceNotFoundException{},
		&pricing.ThrottlingException{},
		// GetServiceQuota
		&servicequotas.AccessDeniedException{}, &servicequotas.IllegalArgumentException{},
		&servicequotas.NoSuchResourceException{}, &servicequotas.ServiceException{},
		&servicequotas.TooManyRequestsException{},
		// AssumeRole, AssumeRoleWithWebIdentity
		&sts.ExpiredTokenException{}, &sts.IDPCommunicationErrorException{}, &sts.IDPRejectedClaimException{},
		&sts.InvalidIdentityTokenException{},
		&sts.RegionDisabledException{},
	} {
		code := known.ErrorCode()
		if !slices.ContainsFunc(refusal.Table, func(m refusal.Meaning) bool { return m.Code == code }) {
			t.Errorf("%s isn't in the table", code)
		}
	}
}

// The SDK is told to retry nothing, so that what it would take for a word to wait is the
// host's to hear.
func TestWhatTheSDKTakesForThrottlingOrATimeoutIsTakenForIt(t *testing.T) {
	// of services that aren't used
	others := []string{"BandwidthLimitExceeded", "LimitExceededException", "ProvisionedThroughputExceededException",
		"SlowDown", "TransactionInProgressException"}
	for code := range retry.DefaultThrottleErrorCodes {
		if slices.Contains(others, code) {
			continue
		}
		if meaning := refusal.Of(code); meaning.Class != provider.RateLimit || meaning.Fault {
			t.Errorf("%s is %v", code, meaning)
		}
	}
	for code := range retry.DefaultRetryableErrorCodes {
		if meaning := refusal.Of(code); meaning.Class != provider.Transient || !meaning.Fault {
			t.Errorf("%s is %v", code, meaning)
		}
	}
}

// The words that each call of EC2 has of its own for what the plugin uses of it, as the
// vendor's list of error codes has them.
func TestWhatEC2RefusesAHostOrADanglingResourceWithIsInTheTable(t *testing.T) {
	for call, codes := range map[string][]string{
		"ReleaseHosts": {"HostMinAllocationPeriodUnexpired", "InvalidHost.Occupied", "InvalidHost.Pending",
			"InvalidHost.Released", "InvalidHostID.NotFound"},
		"AllocateHosts": {"HostLimitExceeded", "InsufficientHostCapacity", "UnsupportedHostConfiguration",
			"InvalidInstanceFamily"},
		"DeleteNetworkInterface": {"InvalidNetworkInterface.InUse", "InvalidNetworkInterfaceID.NotFound",
			"InterfaceInUseByTrafficMirrorSession", "InterfaceInUseByTrafficMirrorTarget"},
		"DeleteVolume": {"VolumeInUse", "InvalidVolume.NotFound", "IncorrectState"},
		"CreateTags":   {"InvalidID", "TagLimitExceeded", "ConcurrentTagAccess", "TagPolicyViolation"},
	} {
		for _, code := range codes {
			if !slices.ContainsFunc(refusal.Table, func(m refusal.Meaning) bool { return m.Code == code }) {
				t.Errorf("%s: %s isn't in the table", call, code)
			}
		}
	}
}

// The SDK's own words name each layer that an error went through.
func TestARefusalIsToldInTheWordsOfTheAPI(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	l.SetCapacity(ec2sim.Market{InstanceType: "c7i.large", Zone: "us-east-1a"}, 0)
	p := l.start(t)
	_, err := p.Provision(t.Context(), asked())
	want := regexp.MustCompile(
		`^launch for the key ` + key + `: InsufficientInstanceCapacity: We [^:]+ \(us-east-1a\)[^:]+ \(request [0-9a-f-]+\)$`)
	if err == nil || !want.MatchString(err.Error()) {
		t.Errorf("it says %q", err)
	}
	l.down.Store(true)
	for _, err := range p.Inspect(t.Context(), provider.Query{}) {
		if err == nil || !strings.HasPrefix(err.Error(), `list volumes: Post "https://ec2.us-east-1.amazonaws.com/": `) {
			t.Errorf("it says %q", err)
		}
	}
}

// The request stays open, and a machine may come of it.
func TestASpotPriceThatIsTooLowProvesNothing(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	l.Inject(ec2sim.Fault{Operation: "RunInstances", Status: 400, Code: "SpotMaxPriceTooLow"})
	if _, err := l.start(t).Provision(t.Context(), asked()); err == nil || provider.IsNotCreated(err) ||
		classOf(err) != provider.Quota {
		t.Errorf("wanted a failure that claims nothing, got %v", err)
	}
}

// Its instance was ended long ago. Sending the key again and again would never end.
func TestAKeyWhoseMachineWasEndedLongAgoMakesNothingAgain(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	l.Inject(ec2sim.Fault{Operation: "RunInstances", Status: 400, Code: "IdempotentInstanceTerminated"})
	if _, err := l.start(t).Provision(t.Context(), asked()); !provider.IsNotCreated(err) {
		t.Errorf("wanted a proof that nothing is there, got %v", err)
	}
}
