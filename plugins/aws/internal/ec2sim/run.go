package ec2sim

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// launch is one effect of RunInstances, remembered by its client token.
type launch struct {
	parameters  string
	reservation string
	instances   []*instance
}

type runAnswer struct {
	header
	reservationXML
}

// runInstances starts machines, or repeats the answer of the same client token.
// It decides everything before it changes anything: a refusal has no effect.
func (s *Simulator) runInstances(now time.Time, request form) (answer, *apiError) {
	token := request["ClientToken"]
	if len(token) > 64 {
		return nil, refuse(400, "InvalidParameterValue",
			"Value (%s) for parameter clientToken is invalid. It has %d characters; the API takes 64.", token, len(token))
	}
	asked := request.canonical("ClientToken")
	if before, ok := s.world.tokens[token]; ok && token != "" {
		if before.parameters != asked {
			return nil, refuse(400, "IdempotentParameterMismatch",
				"Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
		}
		return &runAnswer{reservationXML: s.reservationOf(now, before.instances)}, nil
	}
	whole, refusal := s.expanded(request)
	if refusal != nil {
		return nil, refusal
	}
	wanted, refusal := s.readLaunch(whole)
	if refusal != nil {
		return nil, refusal
	}
	count, refusal := s.room(wanted, now)
	if refusal != nil {
		return nil, refusal
	}
	made := &launch{parameters: asked, reservation: s.world.id("r", s.world.next())}
	for index := range count {
		made.instances = append(made.instances, s.start(now, wanted, token, made.reservation, index))
	}
	if token != "" {
		s.world.tokens[token] = made
	}
	return &runAnswer{reservationXML: s.reservationOf(now, made.instances)}, nil
}

// wanted is a launch as the request asks for it, read and found possible.
type wanted struct {
	least, most int
	kind        *instanceType
	image       *image
	subnet      *subnet
	groups      []*securityGroup
	spot        bool
	maxPrice    string
	settings    settings
	tags        map[string]map[string]string // by resource type
	host        *host
}

// settings are what an instance shows of how it was asked for.
type settings struct {
	disks                               []disk
	keyName, userData, profile          string
	tenancy, tokens, endpoint           string
	hops                                int
	nestedVirtualization                string
	capacityPreference, reservationID   string
	publicAddress, protectedFromEnd     bool
	interfaceDeleted                    bool
	interfaceText                       string
	shutdownBehavior, metadataTagAccess string
}

// disk is one block device of the launch.
type disk struct {
	device, kind, key string
	size, iops        int
	throughput        int
	encrypted         bool
	deleted           bool
}

func (s *Simulator) readLaunch(request form) (wanted, *apiError) {
	var w wanted
	for _, read := range []func(form, *wanted) *apiError{
		readCounts, s.readMachine, s.readNetwork, readMarket, readSettings, readDisks, readTagSpecifications, s.readHost,
	} {
		if refusal := read(request, &w); refusal != nil {
			return wanted{}, refusal
		}
	}
	return w, nil
}

func readCounts(request form, w *wanted) (refusal *apiError) {
	for _, name := range []string{"MinCount", "MaxCount"} {
		if _, ok := request[name]; !ok {
			return refuse(400, "MissingParameter", "The request must contain the parameter %s", name)
		}
	}
	if w.least, refusal = request.number("MinCount", 1); refusal != nil {
		return refusal
	}
	if w.most, refusal = request.number("MaxCount", 1); refusal != nil {
		return refusal
	}
	if w.least < 1 || w.most < w.least {
		return refuse(400, "InvalidParameterValue", "MinCount is %d and MaxCount %d: the least is 1, and not above the most",
			w.least, w.most)
	}
	return nil
}

func (s *Simulator) readMachine(request form, w *wanted) *apiError {
	if name, ok := request["InstanceType"]; ok {
		if w.kind = typeNamed(name); w.kind == nil {
			return refuse(400, "InvalidParameterValue", "Invalid value '%s' for InstanceType.", name)
		}
	} else {
		return refuse(400, "MissingParameter", "The request must contain the parameter InstanceType")
	}
	id, ok := request["ImageId"]
	if !ok {
		return refuse(400, "MissingParameter", "The request must contain the parameter ImageId")
	}
	if !strings.HasPrefix(id, "ami-") {
		return refuse(400, "InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", id)
	}
	for _, one := range s.world.images {
		if one.ID == id {
			w.image = one
		}
	}
	switch {
	case w.image == nil:
		return refuse(400, "InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
	case w.image.State != "available":
		return refuse(400, "InvalidAMIID.Unavailable", "The image id '[%s]' is no longer available", id)
	case w.image.Architecture != w.kind.Architecture:
		return refuse(400, "InvalidParameterValue",
			"The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. "+
				"Specify an instance type and an AMI that have matching architectures, and try again.", w.kind.Architecture,
			w.image.Architecture)
	}
	return nil
}

// readNetwork takes the subnet and the groups from the request or from its
// first network interface, but not from both.
func (s *Simulator) readNetwork(request form, w *wanted) (refusal *apiError) {
	network, groups := request["SubnetId"], request.texts("SecurityGroupId")
	w.settings.interfaceDeleted = true
	if faces := request.structures("NetworkInterface"); len(faces) > 0 {
		if network != "" || len(groups) > 0 {
			return refuse(400, "InvalidParameterCombination",
				"Network interfaces and an instance-level subnet ID or security groups may not be specified on the same request")
		}
		if len(faces) > 1 {
			return refuse(400, "InvalidParameterValue", "the simulator's instances have one network interface, not %d",
				len(faces))
		}
		network, groups = faces[0]["SubnetId"], faces[0].texts("SecurityGroupId")
		w.settings.interfaceText = faces[0]["Description"]
		if w.settings.publicAddress, refusal = faces[0].truth("AssociatePublicIpAddress", false); refusal != nil {
			return refusal
		}
		if w.settings.interfaceDeleted, refusal = faces[0].truth("DeleteOnTermination", true); refusal != nil {
			return refusal
		}
	}
	zone := request["Placement.AvailabilityZone"]
	if w.subnet, refusal = s.subnetFor(network, zone); refusal != nil {
		return refusal
	}
	if w.kind.missingIn(w.subnet.Zone) {
		return refuse(400, "Unsupported",
			"Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", w.kind.Name,
			w.subnet.Zone.Name)
	}
	w.groups, refusal = s.groupsNamed(groups)
	return refusal
}

func (s *Simulator) subnetFor(id, zone string) (*subnet, *apiError) {
	for _, one := range s.world.subnets {
		switch {
		case one.ID == id && zone != "" && one.Zone.Name != zone:
			return nil, refuse(400, "InvalidParameterCombination", "The specified subnet '%s' is in %s, not in %s", id,
				one.Zone.Name, zone)
		case one.ID == id, id == "" && zone == one.Zone.Name, id == "" && zone == "":
			return one, nil
		}
	}
	if id == "" {
		return nil, refuse(400, "InvalidParameterValue", "Invalid availability zone: [%s]", zone)
	}
	return nil, refuse(400, "InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
}

func (s *Simulator) groupsNamed(ids []string) ([]*securityGroup, *apiError) {
	if len(ids) == 0 {
		return s.world.groups[:1], nil
	}
	var found []*securityGroup
next:
	for _, id := range ids {
		for _, one := range s.world.groups {
			if one.ID == id {
				found = append(found, one)
				continue next
			}
		}
		return nil, refuse(400, "InvalidGroup.NotFound", "The security group '%s' does not exist", id)
	}
	return found, nil
}

func readMarket(request form, w *wanted) *apiError {
	switch market := request["InstanceMarketOptions.MarketType"]; market {
	case "":
	case "spot":
		w.spot = true
		w.maxPrice = request["InstanceMarketOptions.SpotOptions.MaxPrice"]
		if w.kind.onDemandOnly {
			return refuse(400, "InvalidParameterCombination", "The instance type %s is not available as spot", w.kind.Name)
		}
	default:
		return refuse(400, "InvalidParameterValue",
			"Value (%s) for parameter marketType is invalid. The simulator has spot.", market)
	}
	return nil
}

// largestUserData is what the API takes before the encoding.
const largestUserData = 16 << 10

func readSettings(request form, w *wanted) (refusal *apiError) {
	data, err := base64.StdEncoding.DecodeString(request["UserData"])
	if err != nil {
		return refuse(400, "InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	}
	if len(data) > largestUserData {
		return refuse(400, "InvalidParameterValue", "User data is limited to 16384 bytes")
	}
	set := &w.settings
	set.userData = string(data)
	set.keyName = request["KeyName"]
	set.profile = request["IamInstanceProfile.Arn"]
	if name := request["IamInstanceProfile.Name"]; name != "" {
		set.profile = name
	}
	set.tenancy = orElse(request["Placement.Tenancy"], "default")
	set.tokens = orElse(request["MetadataOptions.HttpTokens"], "optional")
	set.endpoint = orElse(request["MetadataOptions.HttpEndpoint"], "enabled")
	set.metadataTagAccess = orElse(request["MetadataOptions.InstanceMetadataTags"], "disabled")
	set.shutdownBehavior = orElse(request["InstanceInitiatedShutdownBehavior"], "stop")
	set.nestedVirtualization = request["CpuOptions.NestedVirtualization"]
	set.capacityPreference = orElse(request["CapacityReservationSpecification.CapacityReservationPreference"], "open")
	set.reservationID = request["CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"]
	if set.hops, refusal = request.number("MetadataOptions.HttpPutResponseHopLimit", 1); refusal != nil {
		return refusal
	}
	if set.hops < 1 || set.hops > 64 {
		return refuse(400, "InvalidParameterValue",
			"Value (%d) for parameter HttpPutResponseHopLimit is invalid. Expected 1 to 64.", set.hops)
	}
	set.protectedFromEnd, refusal = request.truth("DisableApiTermination", false)
	return refusal
}

func orElse(text, missing string) string {
	if text == "" {
		return missing
	}
	return text
}

func readDisks(request form, w *wanted) *apiError {
	root := disk{device: w.image.RootDevice, kind: "gp3", size: w.image.RootSize, deleted: true}
	disks := []disk{root}
	for _, mapping := range request.structures("BlockDeviceMapping") {
		one := disk{device: mapping["DeviceName"], kind: "gp2", deleted: true}
		at := &one
		if one.device == root.device {
			at = &disks[0]
		}
		if refusal := readDisk(mapping.at("Ebs"), at); refusal != nil {
			return refusal
		}
		if at.size < 1 || at == &disks[0] && at.size < w.image.RootSize {
			return refuse(400, "InvalidBlockDeviceMapping",
				"Volume of size %dGB is smaller than snapshot '%s', expect size >= %dGB", at.size, w.image.RootSnapshot,
				w.image.RootSize)
		}
		if at == &one {
			disks = append(disks, one)
		}
	}
	w.settings.disks = disks
	return nil
}

func readDisk(ebs form, one *disk) (refusal *apiError) {
	if one.size, refusal = ebs.number("VolumeSize", one.size); refusal != nil {
		return refusal
	}
	if one.iops, refusal = ebs.number("Iops", one.iops); refusal != nil {
		return refusal
	}
	if one.throughput, refusal = ebs.number("Throughput", one.throughput); refusal != nil {
		return refusal
	}
	if one.encrypted, refusal = ebs.truth("Encrypted", one.encrypted); refusal != nil {
		return refusal
	}
	one.kind, one.key = orElse(ebs["VolumeType"], one.kind), ebs["KmsKeyId"]
	one.deleted, refusal = ebs.truth("DeleteOnTermination", one.deleted)
	return refusal
}

func readTagSpecifications(request form, w *wanted) (refusal *apiError) {
	w.tags, refusal = tagSpecifications(request, "instance", "volume", "network-interface", "spot-instances-request")
	return refusal
}

// tagSpecifications gives the tags by resource type, of the types allowed.
func tagSpecifications(request form, allowed ...string) (map[string]map[string]string, *apiError) {
	all := map[string]map[string]string{}
	for _, specification := range request.structures("TagSpecification") {
		kind := specification["ResourceType"]
		known := false
		for _, one := range allowed {
			known = known || one == kind
		}
		if !known {
			return nil, refuse(400, "InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.",
				kind)
		}
		if all[kind] != nil {
			return nil, refuse(400, "InvalidParameterValue", "The tag specification of %s comes twice", kind)
		}
		tags, refusal := readTags(specification)
		if refusal != nil {
			return nil, refusal
		}
		all[kind] = tags
	}
	return all, nil
}

// start makes one instance with everything that comes into being with it.
func (s *Simulator) start(now time.Time, w wanted, token, reservation string, index int) *instance {
	number := s.world.next()
	one := &instance{
		number: number, ID: s.world.id("i", number), reservation: reservation, index: index, token: token,
		kind: w.kind, image: w.image, subnet: w.subnet, groups: w.groups, settings: w.settings,
		tags: copyTags(w.tags["instance"]), launched: now, host: w.host,
		address: fmt.Sprintf("10.%d.%d.%d", number>>16&0xff, number>>8&0xff, number&0xff),
	}
	if w.settings.publicAddress {
		one.publicAddress = fmt.Sprintf("203.0.113.%d", number&0xff)
	}
	if one.host != nil {
		one.host.instance = one
	}
	if w.spot {
		one.spot = s.world.addSpot(now, one, w)
	}
	for _, disk := range w.settings.disks {
		s.world.addVolume(now, one, disk, w.tags["volume"])
	}
	s.world.addInterface(now, one, w.tags["network-interface"])
	s.world.instances = append(s.world.instances, one)
	return one
}
