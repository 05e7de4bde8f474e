package ec2sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// template is a launch template; each version is parameters of RunInstances.
type template struct {
	ID, Name string
	versions []form
}

// AddLaunchTemplate keeps parameters of RunInstances, named as in a request,
// under an id such as "lt-0a000000000000001" and a name, as version 1. The same id
// again adds a version.
func (s *Simulator) AddLaunchTemplate(id, name string, parameters map[string]string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, one := range s.world.templates {
		if one.ID == id {
			one.versions = append(one.versions, maps.Clone(parameters))
			return
		}
	}
	s.world.templates = append(s.world.templates, &template{id, name, []form{maps.Clone(parameters)}})
}

// RemoveLaunchTemplate deletes the template of an id, with its versions.
func (s *Simulator) RemoveLaunchTemplate(id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.world.templates = slices.DeleteFunc(s.world.templates, func(one *template) bool { return one.ID == id })
}

// templateNamed finds a template by its id or its name, of which a request has one.
func (s *Simulator) templateNamed(id, name string) (*template, *apiError) {
	if id != "" && name != "" {
		return nil, refuse(400, "InvalidParameterCombination",
			"A launch template is named by its id or its name, not by both")
	}
	for _, one := range s.world.templates {
		if one.ID == id || one.Name == name {
			return one, nil
		}
	}
	if id != "" {
		return nil, refuse(400, "InvalidLaunchTemplateId.NotFound",
			"The specified launch template, with template ID %s, does not exist.", id)
	}
	return nil, refuse(400, "InvalidLaunchTemplateName.NotFoundException",
		"The specified launch template, with template name %s, does not exist.", name)
}

// version gives the number of a version and its parameters. The first is the
// default one, and stays that.
func (t *template) version(text string) (int, form, *apiError) {
	number, err := strconv.Atoi(text)
	switch text {
	case "", "$Default":
		number, err = 1, nil
	case "$Latest":
		number, err = len(t.versions), nil
	}
	if err != nil || number < 1 || number > len(t.versions) {
		return 0, nil,
			refuse(400, "InvalidLaunchTemplateId.VersionNotFound", "Could not find launch template version %s of %s", text, t.ID)
	}
	return number, t.versions[number-1], nil
}

// expanded gives the request with what its launch template adds. A parameter
// that the request has takes the place of the template's, with all below it.
func (s *Simulator) expanded(request form) (form, *apiError) {
	id, name := request["LaunchTemplate.LaunchTemplateId"], request["LaunchTemplate.LaunchTemplateName"]
	if id == "" && name == "" {
		return request, nil
	}
	one, refusal := s.templateNamed(id, name)
	if refusal != nil {
		return nil, refusal
	}
	_, parameters, refusal := one.version(request["LaunchTemplate.Version"])
	if refusal != nil {
		return nil, refusal
	}
	joined := maps.Clone(request)
	given := map[string]bool{}
	for parameter := range request {
		given[firstPart(parameter)] = true
	}
	for parameter, value := range parameters {
		if !given[firstPart(parameter)] {
			joined[parameter] = value
		}
	}
	return joined, nil
}

type templateVersionsAnswer struct {
	header
	Versions  []templateVersionXML `xml:"launchTemplateVersionSet>item"`
	NextToken string               `xml:"nextToken,omitempty"`
}

type templateVersionXML struct {
	ID     string          `xml:"launchTemplateId"`
	Name   string          `xml:"launchTemplateName"`
	Number int             `xml:"versionNumber"`
	First  bool            `xml:"defaultVersion"`
	Data   templateDataXML `xml:"launchTemplateData"`
}

func (v templateVersionXML) sequence() int { return v.Number }

// templateDataXML has no more of a template than the simulated launches know.
type templateDataXML struct {
	Image     string                `xml:"imageId,omitempty"`
	Type      string                `xml:"instanceType,omitempty"`
	KeyName   string                `xml:"keyName,omitempty"`
	Disks     []templateDiskXML     `xml:"blockDeviceMappingSet>item"`
	Faces     []templateFaceXML     `xml:"networkInterfaceSet>item"`
	Groups    []string              `xml:"securityGroupIdSet>item"`
	Market    *templateMarketXML    `xml:"instanceMarketOptions"`
	Placement *templatePlacementXML `xml:"placement"`
	Protected string                `xml:"disableApiTermination,omitempty"`
}

type templateDiskXML struct {
	Device string         `xml:"deviceName"`
	EBS    templateEBSXML `xml:"ebs"`
}

type templateEBSXML struct {
	Size       string `xml:"volumeSize,omitempty"`
	Type       string `xml:"volumeType,omitempty"`
	IOPS       string `xml:"iops,omitempty"`
	Throughput string `xml:"throughput,omitempty"`
	Encrypted  string `xml:"encrypted,omitempty"`
	Key        string `xml:"kmsKeyId,omitempty"`
	Snapshot   string `xml:"snapshotId,omitempty"`
	Deleted    string `xml:"deleteOnTermination,omitempty"`
}

type templateFaceXML struct {
	Index  string   `xml:"deviceIndex,omitempty"`
	Subnet string   `xml:"subnetId,omitempty"`
	Public string   `xml:"associatePublicIpAddress,omitempty"`
	Groups []string `xml:"groupSet>groupId"`
}

type templateMarketXML struct {
	Type string `xml:"marketType"`
}

type templatePlacementXML struct {
	Tenancy string `xml:"tenancy,omitempty"`
	Host    string `xml:"hostId,omitempty"`
}

func (s *Simulator) describeLaunchTemplateVersions(_ time.Time, request form) (answer, *apiError) {
	one, refusal := s.templateNamed(request["LaunchTemplateId"], request["LaunchTemplateName"])
	if refusal != nil {
		return nil, refusal
	}
	var all []templateVersionXML
	asked := request.texts("LaunchTemplateVersion")
	if len(asked) == 0 {
		for number := range one.versions {
			asked = append(asked, strconv.Itoa(number+1))
		}
	}
	for _, text := range asked {
		number, parameters, refusal := one.version(text)
		if refusal != nil {
			return nil, refusal
		}
		all = append(all, templateVersionXML{one.ID, one.Name, number, number == 1, writeTemplate(parameters)})
	}
	shown, token, refusal := page(s, "DescribeLaunchTemplateVersions", request, all, 1, 200)
	if refusal != nil {
		return nil, refusal
	}
	return &templateVersionsAnswer{Versions: shown, NextToken: token}, nil
}

func writeTemplate(parameters form) templateDataXML {
	written := templateDataXML{Image: parameters["ImageId"], Type: parameters["InstanceType"],
		KeyName: parameters["KeyName"],
		Groups:  parameters.texts("SecurityGroupId"), Protected: strings.ToLower(parameters["DisableApiTermination"])}
	for _, disk := range parameters.structures("BlockDeviceMapping") {
		written.Disks = append(written.Disks, templateDiskXML{disk["DeviceName"], templateEBSXML{
			Size: disk["Ebs.VolumeSize"], Type: disk["Ebs.VolumeType"], IOPS: disk["Ebs.Iops"],
			Throughput: disk["Ebs.Throughput"],
			Encrypted:  disk["Ebs.Encrypted"], Key: disk["Ebs.KmsKeyId"], Snapshot: disk["Ebs.SnapshotId"],
			Deleted: disk["Ebs.DeleteOnTermination"],
		}})
	}
	for _, face := range parameters.structures("NetworkInterface") {
		written.Faces = append(written.Faces,
			templateFaceXML{face["DeviceIndex"], face["SubnetId"], face["AssociatePublicIpAddress"],
				face.texts("SecurityGroupId")})
	}
	if market := parameters["InstanceMarketOptions.MarketType"]; market != "" {
		written.Market = &templateMarketXML{market}
	}
	if placement := parameters.at("Placement"); len(placement) > 0 {
		written.Placement = &templatePlacementXML{placement["Tenancy"], placement["HostId"]}
	}
	return written
}
