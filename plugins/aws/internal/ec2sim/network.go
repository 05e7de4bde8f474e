package ec2sim

import (
	"fmt"
	"slices"
	"time"
)

type imagesAnswer struct {
	header
	Images    []imageXML `xml:"imagesSet>item"`
	NextToken string     `xml:"nextToken,omitempty"`
}

type imageXML struct {
	ID             string         `xml:"imageId"`
	Location       string         `xml:"imageLocation"`
	State          string         `xml:"imageState"`
	Owner          string         `xml:"imageOwnerId"`
	Created        string         `xml:"creationDate"`
	Public         bool           `xml:"isPublic"`
	Architecture   string         `xml:"architecture"`
	Type           string         `xml:"imageType"`
	Name           string         `xml:"name"`
	Text           string         `xml:"description"`
	RootType       string         `xml:"rootDeviceType"`
	RootName       string         `xml:"rootDeviceName"`
	Disks          []imageDiskXML `xml:"blockDeviceMapping>item"`
	Virtualization string         `xml:"virtualizationType"`
	Hypervisor     string         `xml:"hypervisor"`
	ENA            bool           `xml:"enaSupport"`
	Platform       string         `xml:"platformDetails"`
	Tags           []tagXML       `xml:"tagSet>item"`
}

type imageDiskXML struct {
	Device string `xml:"deviceName"`
	EBS    struct {
		Snapshot  string `xml:"snapshotId"`
		Size      int    `xml:"volumeSize"`
		Deleted   bool   `xml:"deleteOnTermination"`
		Type      string `xml:"volumeType"`
		Encrypted bool   `xml:"encrypted"`
	} `xml:"ebs"`
}

var imageFilters = attributes[*image]{
	"image-id":         func(i *image) []string { return []string{i.ID} },
	"name":             func(i *image) []string { return []string{i.Name} },
	"architecture":     func(i *image) []string { return []string{i.Architecture} },
	"state":            func(i *image) []string { return []string{i.State} },
	"owner-id":         func(i *image) []string { return []string{i.Owner} },
	"root-device-type": func(*image) []string { return []string{"ebs"} },
	"virtualization-type": func(*image) []string {
		return []string{"hvm"}
	},
}

func (s *Simulator) describeImages(_ time.Time, request form) (answer, *apiError) {
	named, refusal := pick(request.texts("ImageId"), s.world.images, func(i *image) string {
		return i.ID
	}, "ami-", "InvalidAMIID", "image")
	if refusal != nil {
		return nil, refusal
	}
	if owners := request.texts("Owner"); len(owners) > 0 && !slices.Contains(owners, s.options.Account) &&
		!slices.Contains(owners, "self") {
		named = nil
	}
	shown, token, refusal := show(s, "DescribeImages", request, named, imageFilters, func(i *image) map[string]string {
		return i.Tags
	}, 1, 1000)
	if refusal != nil {
		return nil, refusal
	}
	answer := &imagesAnswer{NextToken: token}
	for _, one := range shown {
		written := imageXML{ID: one.ID, Location: one.Owner + "/" + one.Name, State: one.State, Owner: one.Owner,
			Created:      one.Created,
			Architecture: one.Architecture, Type: "machine", Name: one.Name, Text: one.Description, RootType: "ebs",
			RootName: one.RootDevice,
			Disks:    make([]imageDiskXML, 1), Virtualization: "hvm", Hypervisor: "xen", ENA: true, Platform: one.Platform,
			Tags: writeTags(one.Tags)}
		root := &written.Disks[0]
		root.Device, root.EBS.Snapshot, root.EBS.Size, root.EBS.Deleted, root.EBS.Type = one.RootDevice, one.RootSnapshot,
			one.RootSize, true, "gp3"
		answer.Images = append(answer.Images, written)
	}
	return answer, nil
}

type subnetsAnswer struct {
	header
	Subnets   []subnetXML `xml:"subnetSet>item"`
	NextToken string      `xml:"nextToken,omitempty"`
}

type subnetXML struct {
	ID        string `xml:"subnetId"`
	ARN       string `xml:"subnetArn"`
	State     string `xml:"state"`
	VPC       string `xml:"vpcId"`
	CIDR      string `xml:"cidrBlock"`
	Addresses int    `xml:"availableIpAddressCount"`
	Zone      string `xml:"availabilityZone"`
	ZoneID    string `xml:"availabilityZoneId"`
	Owner     string `xml:"ownerId"`
	Default   bool   `xml:"defaultForAz"`
	Public    bool   `xml:"mapPublicIpOnLaunch"`
}

var subnetFilters = attributes[*subnet]{
	"subnet-id":         func(n *subnet) []string { return []string{n.ID} },
	"vpc-id":            func(n *subnet) []string { return []string{n.VPC} },
	"availability-zone": func(n *subnet) []string { return []string{n.Zone.Name} },
	"state":             func(*subnet) []string { return []string{"available"} },
}

func (s *Simulator) describeSubnets(_ time.Time, request form) (answer, *apiError) {
	named, refusal := pick(request.texts("SubnetId"), s.world.subnets, func(n *subnet) string {
		return n.ID
	}, "subnet-", "InvalidSubnetID", "subnet")
	if refusal != nil {
		return nil, refusal
	}
	shown, token, refusal := show(s, "DescribeSubnets", request, named, subnetFilters, func(*subnet) map[string]string {
		return nil
	}, 5, 1000)
	if refusal != nil {
		return nil, refusal
	}
	answer := &subnetsAnswer{NextToken: token}
	for _, one := range shown {
		arn := fmt.Sprintf("arn:aws:ec2:%s:%s:subnet/%s", s.options.Region, s.options.Account, one.ID)
		answer.Subnets = append(answer.Subnets,
			subnetXML{one.ID, arn, "available", one.VPC, one.CIDR, one.Addresses, one.Zone.Name, one.Zone.ID, s.options.Account,
				false, false})
	}
	return answer, nil
}

type groupsAnswer struct {
	header
	Groups    []securityGroupXML `xml:"securityGroupInfo>item"`
	NextToken string             `xml:"nextToken,omitempty"`
}

type securityGroupXML struct {
	Owner string `xml:"ownerId"`
	ID    string `xml:"groupId"`
	Name  string `xml:"groupName"`
	Text  string `xml:"groupDescription"`
	VPC   string `xml:"vpcId"`
}

var groupFilters = attributes[*securityGroup]{
	"group-id":   func(g *securityGroup) []string { return []string{g.ID} },
	"group-name": func(g *securityGroup) []string { return []string{g.Name} },
	"vpc-id":     func(g *securityGroup) []string { return []string{g.VPC} },
}

func (s *Simulator) describeSecurityGroups(_ time.Time, request form) (answer, *apiError) {
	named, refusal := pick(request.texts("GroupId"), s.world.groups, func(g *securityGroup) string {
		return g.ID
	}, "sg-", "InvalidGroupId", "security group")
	if refusal != nil {
		return nil, refusal
	}
	shown, token, refusal := show(s, "DescribeSecurityGroups", request, named, groupFilters,
		func(*securityGroup) map[string]string {
			return nil
		}, 5, 1000)
	if refusal != nil {
		return nil, refusal
	}
	answer := &groupsAnswer{NextToken: token}
	for _, one := range shown {
		answer.Groups = append(answer.Groups, securityGroupXML{s.options.Account, one.ID, one.Name, one.Say, one.VPC})
	}
	return answer, nil
}

type zonesAnswer struct {
	header
	Zones []zoneXML `xml:"availabilityZoneInfo>item"`
}

type zoneXML struct {
	Name   string `xml:"zoneName"`
	ID     string `xml:"zoneId"`
	State  string `xml:"zoneState"`
	Region string `xml:"regionName"`
	Type   string `xml:"zoneType"`
	OptIn  string `xml:"optInStatus"`
}

var zoneFilters = attributes[zone]{
	"zone-name":   func(z zone) []string { return []string{z.Name} },
	"zone-id":     func(z zone) []string { return []string{z.ID} },
	"zone-type":   func(zone) []string { return []string{"availability-zone"} },
	"state":       func(zone) []string { return []string{"available"} },
	"region-name": func(z zone) []string { return []string{z.Name[:len(z.Name)-1]} },
	"opt-in-status": func(zone) []string {
		return []string{"opt-in-not-required"}
	},
}

func (s *Simulator) describeAvailabilityZones(_ time.Time, request form) (answer, *apiError) {
	all := slices.Clone(s.world.zones)
	for _, list := range []string{"ZoneName", "ZoneId"} {
		names := request.texts(list)
		for _, name := range names {
			if !slices.ContainsFunc(s.world.zones, func(z zone) bool { return z.Name == name || z.ID == name }) {
				return nil, refuse(400, "InvalidParameterValue", "Invalid availability zone: [%s]", name)
			}
		}
		if len(names) > 0 {
			all = slices.DeleteFunc(all, func(z zone) bool {
				return !slices.Contains(names, z.Name) && !slices.Contains(names, z.ID)
			})
		}
	}
	kept, refusal := filtered(request, all, zoneFilters, nil)
	if refusal != nil {
		return nil, refusal
	}
	answer := &zonesAnswer{}
	for _, one := range kept {
		answer.Zones = append(answer.Zones,
			zoneXML{one.Name, one.ID, "available", s.options.Region, "availability-zone", "opt-in-not-required"})
	}
	return answer, nil
}
