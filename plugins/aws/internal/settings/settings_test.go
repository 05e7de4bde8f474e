package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func good() Instance {
	return Instance{Types: []string{"c7i.large"}, Subnets: []string{"subnet-0123456789abcdef0"},
		Groups: []string{"sg-0123456789abcdef0"}, Tenancy: "default"}
}

func TestAnInstanceBlockIsRefusedAtThePlaceThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name    string
		corrupt func(*Instance)
		path    string // empty: it is good
	}{
		{"it is good", func(*Instance) {}, ""},
		{"a type is none", func(i *Instance) { i.Types = []string{"c7i.large", "large"} }, "instance_types[1]"},
		{"a type comes twice", func(i *Instance) { i.Types = []string{"c7i.large", "c7i.large"} }, "instance_types[1]"},
		{"there are no types", func(i *Instance) { i.Types = nil }, "instance_types"},
		{"Macs may have two hosts", func(i *Instance) { i.Types, i.MaxHosts = []string{"mac2.metal"}, 2 }, ""},
		{"the number of hosts for Macs is missing", func(i *Instance) { i.Types = []string{"mac2.metal"} }, "max_hosts"},
		{"the number of hosts is missing", func(i *Instance) { i.Tenancy = "host" }, "max_hosts"},
		{"there may be fewer hosts than none", func(i *Instance) { i.Tenancy, i.MaxHosts = "host", -1 }, "max_hosts"},
		{"a number of hosts without a use of them", func(i *Instance) { i.MaxHosts = 2 }, "max_hosts"},
		{"a Mac shares its hardware", func(i *Instance) {
			i.Types, i.MaxHosts, i.Tenancy = []string{"mac2.metal"}, 2, "dedicated"
		}, "instance_types[0]"},
		{"a reservation is for a host", func(i *Instance) {
			i.Tenancy, i.MaxHosts, i.Reservation = "host", 2, "cr-0123456789abcdef0"
		}, "capacity_reservation"},
		{"a group is a name", func(i *Instance) { i.Groups = []string{"default"} }, "security_groups[0]"},
		{"a subnet is a network", func(i *Instance) { i.Subnets = []string{"vpc-0123456789abcdef0"} }, "subnets[0]"},
		{"a tag is the manager's", func(i *Instance) {
			i.Tags = map[string]string{"Forgeyard-Key": "x"}
		}, "tags.Forgeyard-Key"},
		{"a tag is the vendor's", func(i *Instance) { i.Tags = map[string]string{"aws:x": "x"} }, "tags.aws:x"},
		{"a tag's value is too long", func(i *Instance) {
			i.Tags = map[string]string{"x": strings.Repeat("é", 256)}
		}, "tags.x"},
		{"a tag's value is as long as it may be", func(i *Instance) {
			i.Tags = map[string]string{"x": strings.Repeat("é", 255)}
		}, ""},
		{"a volume has a size below none", func(i *Instance) {
			i.Root = &RootVolume{Type: "gp3", Size: -1}
		}, "root_volume.size"},
		{"io2 lacks its iops", func(i *Instance) { i.Root = &RootVolume{Type: "io2"} }, "root_volume.iops"},
		{"gp2 is given iops", func(i *Instance) { i.Root = &RootVolume{Type: "gp2", IOPS: 3000} }, "root_volume.iops"},
		{"gp3 is given too few iops", func(i *Instance) {
			i.Root = &RootVolume{Type: "gp3", IOPS: 2999}
		}, "root_volume.iops"},
		{"io1 is given a throughput", func(i *Instance) {
			i.Root = &RootVolume{Type: "io1", IOPS: 100, Throughput: 200}
		}, "root_volume.throughput"},
		{"there are no groups", func(i *Instance) { i.Groups = nil }, "security_groups"},
		{"a launch template may have the groups", func(i *Instance) {
			i.Groups, i.Template = nil, &LaunchTemplate{Name: "runners", Version: 3}
		}, ""},
		{"a launch template has an id and a name", func(i *Instance) {
			i.Template = &LaunchTemplate{ID: "lt-0123456789abcdef0", Name: "runners", Version: 3}
		}, "launch_template.name"},
		{"a launch template has neither", func(i *Instance) {
			i.Template = &LaunchTemplate{Version: 3}
		}, "launch_template.id"},
		{"a launch template's id is its name", func(i *Instance) {
			i.Template = &LaunchTemplate{ID: "runners", Version: 3}
		}, "launch_template.id"},
		{"a launch template's name has a space", func(i *Instance) {
			i.Template = &LaunchTemplate{Name: "our runners", Version: 3}
		}, "launch_template.name"},
		{"a launch template has the version 0", func(i *Instance) {
			i.Template = &LaunchTemplate{Name: "runners"}
		}, "launch_template.version"},
		{"the tenancy is unknown", func(i *Instance) { i.Tenancy = "shared" }, "tenancy"},
	} {
		i := good()
		c.corrupt(&i)
		check(t, c.name, i.Validate(), c.path)
	}
}

func TestAProviderBlockIsRefusedAtThePlaceThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name    string
		corrupt func(*Config)
		path    string
	}{
		{"it is good", func(*Config) {}, ""},
		{"the region is a zone", func(c *Config) { c.Region = "eu-central-1a" }, "region"},
		{"the region is one of the government's", func(c *Config) { c.Region = "us-gov-west-1" }, ""},
		{"the endpoint is a host", func(c *Config) { c.Endpoint = "127.0.0.1:5000" }, "endpoint"},
		{"the queue is one", func(c *Config) { c.Queue = "https://sqs.eu-central-1.amazonaws.com/123456789012/fleet" }, ""},
		{"the queue is behind an endpoint", func(c *Config) {
			c.Queue = "http://127.0.0.1:5000/123456789012/fleet.fifo"
		}, ""},
		{"the queue is an ARN", func(c *Config) {
			c.Queue = "arn:aws:sqs:eu-central-1:123456789012:fleet"
		}, "interruption_queue"},
		{"the queue is in another region", func(c *Config) {
			c.Queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/fleet"
		}, "interruption_queue"},
		{"the queue's URL has a password", func(c *Config) {
			c.Queue = "https://a:b@host/123456789012/fleet"
		}, "interruption_queue"},
		{"a call may take too long", func(c *Config) { c.CallTimeout = time.Hour }, "call_timeout"},
		{"the certificate is cut", func(c *Config) {
			c.Certificate = "-----BEGIN CERTIFICATE-----\nMIIC"
		}, "identity_certificate"},
		{"the role is a user", func(c *Config) {
			c.AssumeRole = &AssumeRole{RoleARN: "arn:aws:iam::123456789012:user/x", SessionName: "ok"}
		}, "assume_role.role_arn"},
	} {
		config := Config{Region: "eu-central-1", CallTimeout: time.Minute}
		c.corrupt(&config)
		check(t, c.name, config.Validate(), c.path)
	}
}

func check(t *testing.T, name string, found []provider.Diagnostic, path string) {
	t.Helper()
	switch {
	case path == "" && len(found) > 0:
		t.Errorf("%s: refused: %v", name, found)
	case path != "" && (len(found) != 1 || found[0].Path.String() != path || found[0].Detail == ""):
		t.Errorf("%s: wanted one complaint at %s that says what to do, got %v", name, path, found)
	}
}

func TestAnImageIsAnIDAndNoName(t *testing.T) {
	for image, good := range map[string]bool{"ami-0123456789abcdef0": true, "ubuntu": false, "": false, "ami-": false,
		"resolve:ssm:/x": false} {
		if err := CheckImage(image); (err == nil) != good {
			t.Errorf("%q: %v", image, err)
		}
	}
}
