package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// Document is the policy for a provider block and the instance blocks of its fleets,
// as IAM reads it. It is of the role that works, which is the assumed one where there
// is one.
func Document(config settings.Config, instances []settings.Instance, installation string) (string, error) {
	s := scopeOf(config, instances, installation)
	document := struct {
		Version   string
		Statement []statement
	}{Version: "2012-10-17"}
	for _, part := range parts {
		resources, condition := part.scoped(s)
		if len(resources) == 0 {
			continue
		}
		slices.Sort(resources)
		one := statement{Sid: part.sid, Effect: "Allow", Resource: slices.Compact(resources), Condition: condition}
		for _, action := range Table {
			if slices.Contains(action.in, part.sid) {
				one.Action = append(one.Action, action.Name)
			}
		}
		document.Statement = append(document.Statement, one)
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the policy: %w", err)
	}
	return string(text) + "\n", nil
}

// statement is one, as IAM reads it.
type statement struct {
	Sid, Effect string
	Action      []string
	Resource    []string
	Condition   condition `json:",omitempty"`
}

// condition is by operator and key: one value, or several of which one must hold.
type condition map[string]map[string]any

// scope is what the policy is for.
type scope struct {
	config                     settings.Config
	instances                  []settings.Instance
	installation               string
	partition, region, account string
}

// scopeOf reads the account from the role that is assumed; without one it is the
// account of the principal that has the policy.
func scopeOf(config settings.Config, instances []settings.Instance, installation string) scope {
	s := scope{config: config, instances: instances, installation: installation, partition: "aws", region: config.Region,
		account: "*"}
	for _, of := range [][2]string{
		{"cn-", "aws-cn"}, {"us-gov-", "aws-us-gov"}, {"us-isob-", "aws-iso-b"}, {"us-isof-", "aws-iso-f"},
		{"us-iso-", "aws-iso"},
		{"eu-isoe-", "aws-iso-e"}, {"eusc-", "aws-eusc"},
	} {
		if strings.HasPrefix(config.Region, of[0]) {
			s.partition = of[1]
		}
	}
	if config.AssumeRole != nil {
		if parts := strings.Split(config.AssumeRole.RoleARN, ":"); len(parts) > 4 {
			s.account = cmp.Or(parts[4], s.account)
		}
	}
	return s
}

func (s scope) arn(service, account, resource string) string {
	return strings.Join([]string{"arn", s.partition, service, s.region, account, resource}, ":")
}

// ec2 are things of the account in the region.
func (s scope) ec2(resources ...string) []string {
	var all []string
	for _, one := range resources {
		all = append(all, s.arn("ec2", s.account, one))
	}
	return all
}

func (s scope) here() condition {
	return condition{"StringEquals": {"aws:RequestedRegion": s.region}}
}

// service is the name by which others know a service.
func (s scope) service(name string) string {
	name += ".amazonaws.com"
	if s.partition == "aws-cn" {
		name += ".cn"
	}
	return name
}

// forVolumes is the condition that a key is used through EC2 and not directly.
func (s scope) forVolumes() condition {
	return condition{"StringEquals": {"kms:ViaService": s.service("ec2." + s.region)}}
}

// tagged is the condition that a tag of ours is there, by whichever key asks for it.
func (s scope) tagged(key string) condition {
	return condition{"StringEquals": {key + "/" + settings.TagPrefix + "installation": s.installation}}
}

// made is what a launch makes.
var made = []string{"instance/*", "volume/*", "network-interface/*", "spot-instances-request/*"}

// parts are the statements in their order. One without a resource is left out.
var parts = []struct {
	sid    string
	scoped func(scope) ([]string, condition)
}{
	{look, func(s scope) ([]string, condition) { return []string{"*"}, s.here() }},
	{count, func(s scope) ([]string, condition) { return []string{"*"}, s.here() }},
	{priceList, func(scope) ([]string, condition) { return []string{"*"}, nil }}, // in another region
	{templates, func(s scope) ([]string, condition) {
		if !slices.ContainsFunc(s.instances, func(i settings.Instance) bool { return i.Template != nil }) {
			return nil, nil
		}
		return []string{"*"}, s.here()
	}},
	{launchWith, func(s scope) ([]string, condition) { return s.networks(), nil }},
	{launch, func(s scope) ([]string, condition) {
		only := s.tagged("aws:RequestTag")
		if types := s.types(); len(types) > 0 {
			// of what a launch creates, only the machine has one
			only["StringEqualsIfExists"] = map[string]any{"ec2:InstanceType": types}
		}
		return s.ec2(made...), only
	}},
	{tag, func(s scope) ([]string, condition) {
		only := s.tagged("aws:RequestTag")
		only["StringEquals"]["ec2:CreateAction"] = "RunInstances"
		return s.ec2(made...), only
	}},
	// Hosts are given back, too, when no fleet has any use for them any more.
	{end, func(s scope) ([]string, condition) {
		return s.ec2(append([]string{"dedicated-host/*"}, made...)...), s.tagged("aws:ResourceTag")
	}},
	{onHosts, func(s scope) ([]string, condition) { return s.hosts(), s.tagged("aws:ResourceTag") }},
	{allocate, func(s scope) ([]string, condition) { return s.hosts(), s.tagged("aws:RequestTag") }},
	{tagHosts, func(s scope) ([]string, condition) {
		only := s.tagged("aws:RequestTag")
		only["StringEquals"]["ec2:CreateAction"] = "AllocateHosts"
		return s.hosts(), only
	}},
	{claimHosts, func(s scope) ([]string, condition) {
		only := s.tagged("aws:ResourceTag")
		only["StringEqualsIfExists"] = s.tagged("aws:RequestTag")["StringEquals"] // only the installation's own tags are set
		return s.hosts(), only
	}},
	{passRole, func(s scope) ([]string, condition) {
		return s.roles(), condition{"StringEquals": {"iam:PassedToService": s.service("ec2")}}
	}},
	{hear, func(s scope) ([]string, condition) { return s.queue(), nil }},
	{encrypt, func(s scope) ([]string, condition) { return s.keys(), s.forVolumes() }},
	{grant, func(s scope) ([]string, condition) {
		only := s.forVolumes()
		only["Bool"] = map[string]any{"kms:GrantIsForAWSResource": "true"}
		return s.keys(), only
	}},
}

// types are the instance types of all blocks.
func (s scope) types() []string {
	var all []string
	for _, instance := range s.instances {
		all = append(all, instance.Types...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// networks are what a launch uses and doesn't make: any image, and what the blocks
// name.
func (s scope) networks() []string {
	all := []string{s.arn("ec2", "", "image/*")}
	for _, instance := range s.instances {
		for _, one := range instance.Subnets {
			all = append(all, s.ec2("subnet/"+one)...)
		}
		for _, one := range instance.Groups {
			all = append(all, s.ec2("security-group/"+one)...)
		}
		if instance.KeyName != "" {
			all = append(all, s.ec2("key-pair/"+instance.KeyName)...)
		}
		if instance.Template != nil { // by its name it can't be named here
			all = append(all, s.ec2("launch-template/"+cmp.Or(instance.Template.ID, "*"))...)
		}
		if instance.Reservation != "" {
			all = append(all, s.ec2("capacity-reservation/"+instance.Reservation)...)
		}
	}
	return all
}

// hosts are dedicated hosts, where a block has machines on such.
func (s scope) hosts() []string {
	if !slices.ContainsFunc(s.instances, func(i settings.Instance) bool {
		return slices.ContainsFunc(i.Types, i.OnHost)
	}) {
		return nil
	}
	return s.ec2("dedicated-host/*")
}

// roles are those of the instance profiles. What role a profile has isn't said
// anywhere in a fleet file; the vendor's console gives both one name.
func (s scope) roles() []string {
	var all []string
	for _, instance := range s.instances {
		account, name := s.account, instance.Profile
		if parts := strings.Split(name, ":"); len(parts) > 5 {
			account, name = parts[4], parts[5]
		}
		if name != "" {
			all = append(all, "arn:"+s.partition+":iam::"+account+":role/"+name[strings.LastIndex(name, "/")+1:])
		}
	}
	return all
}

func (s scope) queue() []string {
	address, err := url.Parse(s.config.Queue)
	if err != nil || s.config.Queue == "" {
		return nil
	}
	account, name, _ := strings.Cut(strings.Trim(address.Path, "/"), "/")
	return []string{s.arn("sqs", account, name)}
}

// keys are those that root volumes are encrypted with.
func (s scope) keys() []string {
	var all []string
	for _, instance := range s.instances {
		switch {
		case instance.Root == nil || instance.Root.KMSKey == "":
		case strings.HasPrefix(instance.Root.KMSKey, "arn:"):
			all = append(all, instance.Root.KMSKey)
		default:
			all = append(all, s.arn("kms", s.account, "key/"+instance.Root.KMSKey))
		}
	}
	return all
}
