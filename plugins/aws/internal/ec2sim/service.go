package ec2sim

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// call is one request, read as far as it takes to know which operation it is.
type call struct {
	service, operation string
	// run has the effect and gives the answer.
	run func(context.Context) reply
	// refused words a refusal in the protocol of the service.
	refused func(requestID string, refusal *apiError) reply
}

// identify tells by the signature's scope which service is asked, and what for.
func (s *Simulator) identify(request *http.Request, body string) call {
	service := "sts" // which takes what isn't signed
	if signer, refusal := readSigner(request); refusal == nil {
		service = signer.service
	}
	found := s.identifyIn(request, body)
	found.service = service
	return found
}

func (s *Simulator) identifyIn(request *http.Request, body string) call {
	if request.Header.Get("Authorization") == "" && strings.Contains(body, "Action=AssumeRoleWithWebIdentity") {
		return s.identifySTS(body, signer{})
	}
	signer, refusal := readSigner(request)
	if refusal == nil && signer.region != s.options.Region && signer.service != "pricing" && signer.service != "sts" {
		refusal = refuse(401, "AuthFailure",
			"Credential should be scoped to a valid region, not '%s'; this endpoint is of %s.", signer.region, s.options.Region)
	}
	if refusal != nil {
		return s.refusedCall("", ec2Refusal, refusal)
	}
	switch signer.service {
	case "ec2":
		return s.identifyEC2(body)
	case "sts":
		return s.identifySTS(body, signer)
	case "sqs", "pricing", "servicequotas":
		return s.identifyJSON(signer.service, request, body)
	}
	return s.refusedCall("", ec2Refusal, refuse(404, "UnknownService", "the simulator has no service %q", signer.service))
}

// refusedCall is a call that is refused before it is known what it would do.
func (s *Simulator) refusedCall(operation string, word func(string, *apiError) reply, refusal *apiError) call {
	return call{operation: operation, refused: word, run: func(context.Context) reply {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return word(s.requestID(), refusal)
	}}
}

func ec2Refusal(requestID string, refusal *apiError) reply {
	return reply{status: refusal.status, contentType: "text/xml;charset=UTF-8", body: encodeRefusal(requestID, refusal)}
}

// operation is one action of EC2.
type operation struct {
	family family
	// parameters are the first parts of the names it takes, beside those that
	// every operation has.
	parameters []string
	run        func(s *Simulator, now time.Time, request form) (answer, *apiError)
}

const apiVersion = "2016-11-15"

func (s *Simulator) identifyEC2(body string) call {
	request, refusal := parseForm(body)
	if refusal != nil {
		return s.refusedCall("", ec2Refusal, refusal)
	}
	action := request["Action"]
	found, ok := ec2Operations[action]
	switch {
	case !ok:
		return s.refusedCall(action, ec2Refusal,
			refuse(400, "InvalidAction", "The action '%s' is not valid for this web service.", action))
	case request["Version"] != apiVersion:
		return s.refusedCall(action, ec2Refusal,
			refuse(400, "NoSuchVersion",
				"The requested version (%s) of service AmazonEC2 does not exist; the simulator speaks %s", request["Version"],
				apiVersion))
	}
	if refusal := unknownParameter(request, found.parameters); refusal != nil {
		return s.refusedCall(action, ec2Refusal, refusal)
	}
	return call{operation: action, refused: ec2Refusal, run: func(context.Context) reply {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return s.runEC2(action, found, request)
	}}
}

func (s *Simulator) runEC2(action string, found operation, request form) reply {
	now, requestID := s.now(), s.requestID()
	s.settle(now)
	if refusal := s.admit(now, action, found.family, request); refusal != nil {
		return ec2Refusal(requestID, refusal)
	}
	if dry, refusal := request.truth("DryRun", false); refusal != nil || dry {
		if refusal == nil {
			refusal = refuse(412, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
		}
		return ec2Refusal(requestID, refusal)
	}
	body, refusal := found.run(s, now, request)
	if refusal != nil {
		return ec2Refusal(requestID, refusal)
	}
	return reply{status: 200, contentType: "text/xml;charset=UTF-8", body: encodeAnswer(action, requestID, body)}
}

// ec2Operations is filled by init: the operations and what identifies them
// refer to each other.
var ec2Operations map[string]operation

func init() {
	reading := []string{"Filter", "MaxResults", "NextToken"}
	with := func(more ...string) []string { return append(more, reading...) }
	ec2Operations = map[string]operation{
		"RunInstances": {launching,
			[]string{"BlockDeviceMapping", "CapacityReservationSpecification", "ClientToken", "CpuOptions",
				"DisableApiTermination", "EbsOptimized", "IamInstanceProfile", "ImageId", "InstanceInitiatedShutdownBehavior",
				"InstanceMarketOptions", "InstanceType", "KeyName", "LaunchTemplate", "MaxCount", "MetadataOptions", "MinCount",
				"Monitoring", "NetworkInterface", "Placement", "SecurityGroupId", "SubnetId", "TagSpecification", "UserData"},
			(*Simulator).runInstances},
		"DescribeInstances":         {describing, with("InstanceId"), (*Simulator).describeInstances},
		"TerminateInstances":        {mutating, []string{"InstanceId"}, (*Simulator).terminateInstances},
		"CreateTags":                {mutating, []string{"ResourceId", "Tag"}, (*Simulator).createTags},
		"DeleteTags":                {mutating, []string{"ResourceId", "Tag"}, (*Simulator).deleteTags},
		"DescribeTags":              {describing, reading, (*Simulator).describeTags},
		"DescribeVolumes":           {describing, with("VolumeId"), (*Simulator).describeVolumes},
		"DeleteVolume":              {mutating, []string{"VolumeId"}, (*Simulator).deleteVolume},
		"DescribeNetworkInterfaces": {describing, with("NetworkInterfaceId"), (*Simulator).describeNetworkInterfaces},
		"DeleteNetworkInterface":    {mutating, []string{"NetworkInterfaceId"}, (*Simulator).deleteNetworkInterface},
		"DescribeSpotInstanceRequests": {describing, with("SpotInstanceRequestId"),
			(*Simulator).describeSpotInstanceRequests},
		"CancelSpotInstanceRequests": {mutating, []string{"SpotInstanceRequestId"},
			(*Simulator).cancelSpotInstanceRequests},
		"DescribeImages": {describing, with("ImageId", "Owner", "ExecutableBy", "IncludeDeprecated"),
			(*Simulator).describeImages},
		"DescribeSubnets":        {describing, with("SubnetId"), (*Simulator).describeSubnets},
		"DescribeSecurityGroups": {describing, with("GroupId", "GroupName"), (*Simulator).describeSecurityGroups},
		"DescribeAvailabilityZones": {describing, with("ZoneName", "ZoneId", "AllAvailabilityZones"),
			(*Simulator).describeAvailabilityZones},
		"DescribeInstanceTypes":         {describing, with("InstanceType"), (*Simulator).describeInstanceTypes},
		"DescribeInstanceTypeOfferings": {describing, with("LocationType"), (*Simulator).describeInstanceTypeOfferings},
		"AllocateHosts": {mutating,
			[]string{"AutoPlacement", "AvailabilityZone", "ClientToken", "HostMaintenance", "HostRecovery", "InstanceType",
				"Quantity", "TagSpecification"}, (*Simulator).allocateHosts},
		"DescribeHosts": {describing, with("HostId"), (*Simulator).describeHosts},
		"ReleaseHosts":  {mutating, []string{"HostId"}, (*Simulator).releaseHosts},
		"DescribeLaunchTemplateVersions": {describing,
			with("LaunchTemplateId", "LaunchTemplateName", "LaunchTemplateVersion"),
			(*Simulator).describeLaunchTemplateVersions},
		"DescribeSpotPriceHistory": {describing,
			with("AvailabilityZone", "InstanceType", "ProductDescription", "StartTime", "EndTime"),
			(*Simulator).describeSpotPriceHistory},
	}
}

// unknownParameter refuses what the operation doesn't take, as the API does: a
// parameter that is silently ignored is a setting without effect.
func unknownParameter(request form, known []string) *apiError {
	for name := range request {
		first := firstPart(name)
		if first == "Action" || first == "Version" || first == "DryRun" || slices.Contains(known, first) {
			continue
		}
		return refuse(400, "UnknownParameter", "The parameter %s is not recognized", first)
	}
	return nil
}
