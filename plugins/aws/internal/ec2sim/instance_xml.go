package ec2sim

import "time"

type reservationXML struct {
	ID        string        `xml:"reservationId"`
	Owner     string        `xml:"ownerId"`
	Instances []instanceXML `xml:"instancesSet>item"`
}

type instanceXML struct {
	ID             string             `xml:"instanceId"`
	Image          string             `xml:"imageId"`
	State          stateXML           `xml:"instanceState"`
	PrivateDNS     string             `xml:"privateDnsName"`
	Reason         string             `xml:"reason"`
	StateReason    *reasonXML         `xml:"stateReason"`
	KeyName        string             `xml:"keyName,omitempty"`
	Index          int                `xml:"amiLaunchIndex"`
	Type           string             `xml:"instanceType"`
	Launched       string             `xml:"launchTime"`
	Placement      placementXML       `xml:"placement"`
	Platform       string             `xml:"platformDetails"`
	Subnet         string             `xml:"subnetId,omitempty"`
	VPC            string             `xml:"vpcId,omitempty"`
	Address        string             `xml:"privateIpAddress,omitempty"`
	PublicAddress  string             `xml:"ipAddress,omitempty"`
	Groups         []groupXML         `xml:"groupSet>item"`
	Architecture   string             `xml:"architecture"`
	RootType       string             `xml:"rootDeviceType"`
	RootName       string             `xml:"rootDeviceName"`
	Disks          []instanceDiskXML  `xml:"blockDeviceMapping>item"`
	Virtualization string             `xml:"virtualizationType"`
	Lifecycle      string             `xml:"instanceLifecycle,omitempty"`
	SpotRequest    string             `xml:"spotInstanceRequestId,omitempty"`
	Token          string             `xml:"clientToken"`
	Tags           []tagXML           `xml:"tagSet>item"`
	Hypervisor     string             `xml:"hypervisor"`
	Interfaces     []instanceFaceXML  `xml:"networkInterfaceSet>item"`
	Profile        *profileXML        `xml:"iamInstanceProfile"`
	CPU            cpuOptionsXML      `xml:"cpuOptions"`
	Reservation    string             `xml:"capacityReservationId,omitempty"`
	Metadata       metadataOptionsXML `xml:"metadataOptions"`
	Capacity       capacityTargetXML  `xml:"capacityReservationSpecification"`
}

type reasonXML struct {
	Code    string `xml:"code"`
	Message string `xml:"message"`
}

type placementXML struct {
	Zone    string `xml:"availabilityZone"`
	ZoneID  string `xml:"availabilityZoneId"`
	Tenancy string `xml:"tenancy"`
	Host    string `xml:"hostId,omitempty"`
}

type instanceDiskXML struct {
	Device string      `xml:"deviceName"`
	EBS    attachedXML `xml:"ebs"`
}

type attachedXML struct {
	Volume  string `xml:"volumeId"`
	Status  string `xml:"status"`
	Time    string `xml:"attachTime"`
	Deleted bool   `xml:"deleteOnTermination"`
}

type instanceFaceXML struct {
	ID         string            `xml:"networkInterfaceId"`
	Subnet     string            `xml:"subnetId"`
	VPC        string            `xml:"vpcId"`
	Owner      string            `xml:"ownerId"`
	Status     string            `xml:"status"`
	Address    string            `xml:"privateIpAddress"`
	Groups     []groupXML        `xml:"groupSet>item"`
	Attachment faceAttachmentXML `xml:"attachment"`
}

type profileXML struct {
	ARN string `xml:"arn"`
	ID  string `xml:"id"`
}

type cpuOptionsXML struct {
	Cores   int    `xml:"coreCount"`
	Threads int    `xml:"threadsPerCore"`
	Nested  string `xml:"nestedVirtualization,omitempty"`
}

type metadataOptionsXML struct {
	State    string `xml:"state"`
	Tokens   string `xml:"httpTokens"`
	Hops     int    `xml:"httpPutResponseHopLimit"`
	Endpoint string `xml:"httpEndpoint"`
	Tags     string `xml:"instanceMetadataTags"`
}

type capacityTargetXML struct {
	Preference string `xml:"capacityReservationPreference"`
}

// reservationOf writes the instances of one launch as they are now.
func (s *Simulator) reservationOf(now time.Time, instances []*instance) reservationXML {
	written := reservationXML{ID: instances[0].reservation, Owner: s.options.Account}
	for _, one := range instances {
		written.Instances = append(written.Instances, s.writeInstance(now, one))
	}
	return written
}

func (s *Simulator) writeInstance(now time.Time, one *instance) instanceXML {
	set, state := one.settings, one.state(now, s.options.Delays)
	written := instanceXML{
		ID: one.ID, Image: one.image.ID, State: state, Reason: one.reason, KeyName: set.keyName, Index: one.index,
		Type: one.kind.Name, Launched: wireTime(one.launched),
		Placement: placementXML{Zone: one.subnet.Zone.Name, ZoneID: one.subnet.Zone.ID, Tenancy: set.tenancy},
		Platform:  one.image.Platform, Architecture: one.image.Architecture, RootType: "ebs", RootName: one.image.RootDevice,
		Virtualization: "hvm", Hypervisor: "xen", Token: one.token, Tags: writeTags(one.tags),
		CPU:      cpuOptionsXML{one.kind.CPUs / one.kind.Threads, one.kind.Threads, set.nestedVirtualization},
		Metadata: metadataOptionsXML{"applied", set.tokens, set.hops, set.endpoint, set.metadataTagAccess},
		Capacity: capacityTargetXML{set.capacityPreference}, Reservation: set.reservationID,
	}
	if one.code != "" {
		written.StateReason = &reasonXML{one.code, one.told}
	} else if state.Name == "pending" {
		written.StateReason = &reasonXML{"pending", "pending"}
	}
	if one.host != nil {
		written.Placement.Host = one.host.ID
	}
	if one.spot != nil {
		written.Lifecycle, written.SpotRequest = "spot", one.spot.ID
	}
	if set.profile != "" {
		written.Profile = &profileXML{s.profileARN(set.profile), "AIPA0SIMULATED0000001"}
	}
	if state.Name != "terminated" { // One that ended shows no network and no disks.
		written.Subnet, written.VPC = one.subnet.ID, one.subnet.VPC
		written.Address, written.PublicAddress = one.address, one.publicAddress
		written.Groups = writeGroups(one.groups)
		s.writeAttached(one, &written)
	}
	return written
}

func (s *Simulator) writeAttached(one *instance, written *instanceXML) {
	for _, volume := range one.volumes {
		written.Disks = append(written.Disks, instanceDiskXML{volume.device,
			attachedXML{volume.ID, "attached", wireTime(volume.created), volume.deleteWithInstance}})
	}
	for _, face := range one.interfaces {
		written.Interfaces = append(written.Interfaces, instanceFaceXML{
			ID: face.ID, Subnet: one.subnet.ID, VPC: one.subnet.VPC, Owner: s.options.Account, Status: "in-use",
			Address: one.address, Groups: writeGroups(one.groups),
			Attachment: faceAttachmentXML{ID: face.attachment, Time: wireTime(face.created), Deleted: face.deleteWithInstance,
				Status: "attached"},
		})
	}
}

// profileARN writes a profile that was given by its name.
func (s *Simulator) profileARN(profile string) string {
	if len(profile) > 4 && profile[:4] == "arn:" {
		return profile
	}
	return "arn:aws:iam::" + s.options.Account + ":instance-profile/" + profile
}

func writeGroups(groups []*securityGroup) []groupXML {
	var written []groupXML
	for _, one := range groups {
		written = append(written, groupXML{one.ID, one.Name})
	}
	return written
}
