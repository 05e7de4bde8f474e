// Package settings is what a fleet file says to the plugin aws: its two blocks and
// the rules that need no network. It knows nothing of the SDK, so that its tests
// don't compile it.
package settings

import (
	"strings"
	"time"
)

// CertificateName is the attribute without which no identity can be verified.
const CertificateName = "identity_certificate"

// Config is the provider block.
type Config struct {
	Region      string        `fleet:"region,required" doc:"The region, such as \"eu-central-1\". One provider block is one region."`
	Profile     string        `fleet:"profile" doc:"Profile of the shared configuration files. By default what AWS_PROFILE says, where the plugin gets it by env in required_plugins."`
	Endpoint    string        `fleet:"endpoint" doc:"Base URL of all services, for private endpoints and tests. By default the region's own."`
	AssumeRole  *AssumeRole   `fleet:"assume_role,block" doc:"A role that is assumed with the credentials of the standard chain."`
	Queue       string        `fleet:"interruption_queue" doc:"URL of the SQS queue, of this region and only for this block, into which EventBridge writes what happens to machines. Without it only the agents' checks of the instance metadata detect an interruption."`
	Certificate string        `fleet:"identity_certificate" doc:"The region's RSA-2048 certificate in PEM, from the vendor's page of public certificates for instance identity documents. With it hosts enroll only with the document that EC2 signed about them; without it their single-use token is enough."`
	CallTimeout time.Duration `fleet:"call_timeout" default:"30s" doc:"How long one call of the API may take, from 1s to 2m. What a longer create made is found by the next inspection."`
}

// AssumeRole is a role of this or another account.
type AssumeRole struct {
	RoleARN     string `fleet:"role_arn,required" doc:"The role's ARN."`
	ExternalID  string `fleet:"external_id" doc:"What the role's trust policy asks for as sts:ExternalId. It isn't secret."`
	SessionName string `fleet:"session_name" default:"forgeyard-fleet" doc:"The session's name, as the audit log shows it."`
}

// Instance is the instance block of a fleet. The image is the fleet's own: the id
// of an AMI.
type Instance struct {
	Types         []string          `fleet:"instance_types,required" doc:"Instance types that may be used, such as \"c7i.xlarge\". Each is an offer in each subnet's zone, on demand and, where available, as spot."`
	Subnets       []string          `fleet:"subnets,required" doc:"Ids of the subnets. Of several in one zone the first is used."`
	Groups        []string          `fleet:"security_groups,immutable" doc:"Ids of the security groups. They may be left out where the launch template's network interface has some."`
	Template      *LaunchTemplate   `fleet:"launch_template,block" doc:"A version of a launch template, for what this block doesn't say."`
	Profile       string            `fleet:"instance_profile,immutable" doc:"Name or ARN of the instance profile. None by default: jobs reach its role by the metadata service."`
	KeyName       string            `fleet:"key_name,immutable" doc:"Key pair for SSH. None by default."`
	PublicAddress bool              `fleet:"associate_public_address,immutable" default:"false" doc:"Whether the machine gets a public address."`
	Root          *RootVolume       `fleet:"root_volume,block" doc:"The root volume, which is always encrypted and goes with its machine."`
	Nested        bool              `fleet:"nested_virtualization,immutable" default:"false" doc:"Whether the processor's virtualization is handed on to the machine; the machine then counts as having KVM. Metal types have it anyway."`
	Reservation   string            `fleet:"capacity_reservation,immutable" doc:"Id of the capacity reservation that machines on demand are made in. By default any open one that fits."`
	Tenancy       string            `fleet:"tenancy,immutable" default:"default" doc:"default; dedicated: hardware that no other account uses; or host: a dedicated host for each machine, which Macs have anyway."`
	MaxHosts      int               `fleet:"max_hosts" default:"0" doc:"How many dedicated hosts the fleet may have at once, those that are kept and prepared among them. Needed for Macs, whose hosts are paid for a day each, and for the tenancy host."`
	Tags          map[string]string `fleet:"tags,immutable" doc:"Further tags of the machine and all that belongs to it."`
}

// LaunchTemplate is one version of a launch template. A version never changes, while
// $Latest and $Default do: then the same key would be another request.
type LaunchTemplate struct {
	ID      string `fleet:"id,immutable" doc:"Its id, such as \"lt-0123456789abcdef0\"; or write name."`
	Name    string `fleet:"name,immutable" doc:"Its name; or write id."`
	Version int    `fleet:"version,immutable,required" doc:"The number of the version, from 1. $Latest and $Default aren't accepted, since they may change between two attempts of one create."`
}

// RootVolume is the disk that the machine boots from.
type RootVolume struct {
	Size       int    `fleet:"size,immutable" default:"0" doc:"GiB. 0: as big as the image."`
	Type       string `fleet:"type,immutable" default:"gp3" doc:"gp3, gp2, io1 or io2."`
	IOPS       int    `fleet:"iops,immutable" default:"0" doc:"Operations in a second, for gp3, io1 and io2. 0: the type's own; io1 and io2 need it."`
	Throughput int    `fleet:"throughput,immutable" default:"0" doc:"MiB in a second, for gp3. 0: the type's own."`
	KMSKey     string `fleet:"kms_key,immutable" doc:"Id or ARN of the key it is encrypted with. By default the account's own for volumes."`
}

// OnHost says whether machines of a type are on dedicated hosts.
func (i Instance) OnHost(machineType string) bool { return i.Tenancy == "host" || Mac(machineType) }

// Mac says whether an instance type is a Mac, which is a dedicated host by itself.
func Mac(machineType string) bool { return strings.HasPrefix(machineType, "mac") }

// Metal says whether an instance type is a whole computer.
func Metal(machineType string) bool {
	_, size, _ := strings.Cut(machineType, ".")
	return size == "metal" || strings.HasPrefix(size, "metal-")
}
