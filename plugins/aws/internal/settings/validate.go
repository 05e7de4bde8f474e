package settings

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/identity"
)

// TagPrefix begins the names of the tags that the plugin itself writes.
const TagPrefix = "forgeyard-fleet:"

var (
	regionPattern   = regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-[0-9]+$`)
	rolePattern     = regexp.MustCompile(`^arn:[a-z-]+:iam::[0-9]{12}:role/.+$`)
	sessionPattern  = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)
	typePattern     = regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)
	templatePattern = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`)
	queuePattern    = regexp.MustCompile(
		`^https?://(?:sqs\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?|[^/\s?#@]+)/[0-9]{12}/[\w-]{1,80}(?:\.fifo)?$`)
	imagePattern = regexp.MustCompile(`^ami-[0-9a-f]{8,17}$`)
)

// The ranges that the API has.
const (
	leastCall, mostCall = time.Second, 2 * time.Minute
	mostGiB             = 65536
	mostIOPS            = 256000
	mostThroughput      = 2000
	// mostTags leaves room, of the 50 that a resource has, for the host's and ours.
	mostTags     = 30
	longestName  = 127
	longestValue = 255
)

// complaints gathers what is wrong.
type complaints []provider.Diagnostic

func (c *complaints) add(path provider.Path, summary, detail string) {
	*c = append(*c, provider.Diagnostic{Path: path, Summary: summary, Detail: detail})
}

// Validate checks what types can't say.
func (c Config) Validate() []provider.Diagnostic {
	var found complaints
	if !regionPattern.MatchString(c.Region) {
		found.add(provider.At("region"), fmt.Sprintf("invalid region %q", c.Region),
			"Write a region's name, such as \"eu-central-1\", without the letter of a zone.")
	}
	if c.Endpoint != "" {
		if address, err := url.Parse(c.Endpoint); err != nil || address.Host == "" ||
			address.Scheme != "http" && address.Scheme != "https" {
			found.add(provider.At("endpoint"), "Invalid base URL",
				"Write one such as \"https://vpce-0123.ec2.eu-central-1.vpce.amazonaws.com\", or leave it out.")
		}
	}
	if c.CallTimeout < leastCall || c.CallTimeout > mostCall {
		found.add(provider.At("call_timeout"), "Out of range",
			fmt.Sprintf("call_timeout is from %s to %s, not %s.", leastCall, mostCall, c.CallTimeout))
	}
	c.validateQueue(&found)
	if c.Certificate != "" {
		if _, err := identity.Certificate(c.Certificate); err != nil {
			found.add(provider.At(CertificateName), "Not the certificate of a region", fmt.Sprintf(
				"Copy the RSA-2048 certificate of %s from the vendor's page, with the lines that begin and end it: %s.", c.Region,
				err))
		}
	}
	if role := c.AssumeRole; role != nil {
		if !rolePattern.MatchString(role.RoleARN) {
			found.add(provider.At("assume_role").Attr("role_arn"), fmt.Sprintf("invalid role ARN %q", role.RoleARN),
				"It has the form \"arn:aws:iam::123456789012:role/NAME\".")
		}
		if !sessionPattern.MatchString(role.SessionName) {
			found.add(provider.At("assume_role").Attr("session_name"),
				fmt.Sprintf("%q can't be the name of a session", role.SessionName),
				"It has 2 to 64 letters, digits and any of _+=,.@-.")
		}
	}
	return found
}

// validateQueue checks the URL, whose host may be anybody's, as an endpoint's may.
func (c Config) validateQueue(found *complaints) {
	if c.Queue == "" {
		return
	}
	parts := queuePattern.FindStringSubmatch(c.Queue)
	switch {
	case parts == nil:
		found.add(provider.At("interruption_queue"), "Invalid queue URL",
			"It has the form \"https://sqs.REGION.amazonaws.com/ACCOUNT/NAME\".")
	case parts[1] != "" && parts[1] != c.Region:
		found.add(provider.At("interruption_queue"),
			fmt.Sprintf("The queue is in %s, and the block in %s", parts[1], c.Region),
			"EventBridge writes the events of a region into a queue of that region: make one there.")
	}
}

// Validate checks what types can't say.
func (i Instance) Validate() []provider.Diagnostic {
	var found complaints
	list := func(name string, values []string, fits func(string) bool, form string) {
		if len(values) == 0 {
			found.add(provider.At(name), "The list is empty", "Write at least one: "+form)
		}
		for n, value := range values {
			switch {
			case !fits(value):
				found.add(provider.At(name).Index(n), fmt.Sprintf("%q doesn't fit", value), form)
			case slices.Contains(values[:n], value):
				found.add(provider.At(name).Index(n), fmt.Sprintf("%q comes twice", value), "Write it once.")
			}
		}
	}
	list("instance_types", i.Types, typePattern.MatchString,
		"An instance type is a family and a size, such as \"c7i.xlarge\".")
	list("subnets", i.Subnets, isID("subnet"), "The id of a subnet begins with \"subnet-\".")
	if i.Template == nil || len(i.Groups) > 0 {
		list("security_groups", i.Groups, isID("sg"), "The id of a security group begins with \"sg-\"; a name won't do.")
	}
	if i.Template != nil {
		i.Template.validate(&found)
	}
	if i.Reservation != "" && !isID("cr")(i.Reservation) {
		found.add(provider.At("capacity_reservation"), fmt.Sprintf("invalid capacity reservation %q", i.Reservation),
			"Its id begins with \"cr-\".")
	}
	if !slices.Contains([]string{"default", "dedicated", "host"}, i.Tenancy) {
		found.add(provider.At("tenancy"), fmt.Sprintf("invalid tenancy %q", i.Tenancy), "Write default, dedicated or host.")
	}
	i.validateHosts(&found)
	i.validateTags(&found)
	if i.Root != nil {
		i.Root.validate(&found)
	}
	return found
}

// mostHosts is above what anybody has and below what a slip of the finger costs.
const mostHosts = 1000

// validateHosts requires a number of hosts where some are used: a host costs money
// while no machine is on it.
func (i Instance) validateHosts(found *complaints) {
	onHosts := slices.ContainsFunc(i.Types, i.OnHost)
	switch {
	case i.MaxHosts < 0 || i.MaxHosts > mostHosts:
		found.add(provider.At("max_hosts"), "Out of range",
			fmt.Sprintf("A fleet has 1 to %d dedicated hosts, not %d.", mostHosts, i.MaxHosts))
	case onHosts && i.MaxHosts == 0:
		found.add(provider.At("max_hosts"), "max_hosts is missing",
			"Write how many dedicated hosts the fleet may have at once. One for Macs is paid for 24 hours at least, whether a "+
				"machine is on it or not.")
	case !onHosts && i.MaxHosts > 0:
		found.add(provider.At("max_hosts"), "max_hosts doesn't belong here", "It is for Macs and for the tenancy host.")
	}
	if n := slices.IndexFunc(i.Types, Mac); n >= 0 && i.Tenancy == "dedicated" {
		found.add(provider.At("instance_types").Index(n), "A Mac is on a dedicated host", "Leave tenancy out, or write host.")
	}
	if onHosts && i.Reservation != "" {
		found.add(provider.At("capacity_reservation"), "A capacity reservation can't be used with dedicated hosts",
			"Leave one of them out.")
	}
}

func (i Instance) validateTags(found *complaints) {
	if len(i.Tags) > mostTags {
		found.add(provider.At("tags"), "Too many tags",
			fmt.Sprintf("There can be %d, not %d: the manager needs some of the 50 that a machine can have.", mostTags,
				len(i.Tags)))
	}
	names := make([]string, 0, len(i.Tags))
	for name := range i.Tags {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		path := provider.At("tags").Attr(name)
		lower := strings.ToLower(name)
		switch {
		case name == "" || len([]rune(name)) > longestName || len([]rune(i.Tags[name])) > longestValue:
			found.add(path, "The tag is too long, or has no name",
				fmt.Sprintf("A name has 1 to %d characters, a value at most %d.", longestName, longestValue))
		case strings.HasPrefix(lower, "aws:") || strings.HasPrefix(lower, "forgeyard-") || name == "Name":
			found.add(path, fmt.Sprintf("The tag %q is taken", name),
				"Names that begin with aws: are the vendor's; Name and those that begin with forgeyard- are the manager's.")
		}
	}
}

func (t LaunchTemplate) validate(found *complaints) {
	at := provider.At("launch_template")
	switch {
	case t.ID == "" && t.Name == "":
		found.add(at.Attr("id"), "Neither id nor name", "Write the launch template's id or its name.")
	case t.ID != "" && t.Name != "":
		found.add(at.Attr("name"), "Both id and name",
			"Write one of them: it would be the same template, or a contradiction.")
	case t.ID != "" && !isID("lt")(t.ID):
		found.add(at.Attr("id"), fmt.Sprintf("invalid launch template %q", t.ID),
			"Its id begins with \"lt-\"; its name goes into name.")
	case t.Name != "" && !templatePattern.MatchString(t.Name):
		found.add(at.Attr("name"), fmt.Sprintf("%q can't be the name of a launch template", t.Name),
			"It has 3 to 128 letters, digits and any of ().-/_.")
	}
	if t.Version < 1 {
		found.add(at.Attr("version"), "Out of range", fmt.Sprintf("Versions are counted from 1, and this is %d.", t.Version))
	}
}

// iopsRange is what a type takes; absent: it takes none.
var iopsRange = map[string][2]int{"gp3": {3000, 80000}, "io1": {100, 64000}, "io2": {100, mostIOPS}}

func (r RootVolume) validate(found *complaints) {
	at := provider.At("root_volume")
	if r.Size < 0 || r.Size > mostGiB {
		found.add(at.Attr("size"), "Out of range",
			fmt.Sprintf("A volume has 1 to %d GiB, or 0 for the image's size, not %d.", mostGiB, r.Size))
	}
	if !slices.Contains([]string{"gp3", "gp2", "io1", "io2"}, r.Type) {
		found.add(at.Attr("type"), fmt.Sprintf("invalid type %q", r.Type), "Write gp3, gp2, io1 or io2.")
		return
	}
	limits, settable := iopsRange[r.Type]
	switch {
	case r.IOPS == 0 && (r.Type == "io1" || r.Type == "io2"):
		found.add(at.Attr("iops"), "iops is missing",
			fmt.Sprintf("A volume of type %s has none of its own: write %d to %d.", r.Type, limits[0], limits[1]))
	case r.IOPS != 0 && !settable:
		found.add(at.Attr("iops"), "iops doesn't belong here", "The iops of gp2 follow from its size.")
	case r.IOPS != 0 && (r.IOPS < limits[0] || r.IOPS > limits[1]):
		found.add(at.Attr("iops"), "Out of range",
			fmt.Sprintf("A volume of type %s has %d to %d, not %d.", r.Type, limits[0], limits[1], r.IOPS))
	}
	if r.Throughput != 0 && (r.Type != "gp3" || r.Throughput < 125 || r.Throughput > mostThroughput) {
		found.add(at.Attr("throughput"), "Out of range", fmt.Sprintf("Only gp3 has it, from 125 to %d.", mostThroughput))
	}
}

// CheckImage says what is wrong with the fleet's image. A name or a parameter of
// SSM won't do: what it means may change between two tries of one create, which
// must be the same request.
func CheckImage(image string) error {
	if !imagePattern.MatchString(image) {
		return fmt.Errorf("the image %q is not an AMI id: write the fleet's image as one, such as \"ami-0123456789abcdef0\"",
			image)
	}
	return nil
}

// isID tells whether a text is an id of a kind.
func isID(kind string) func(string) bool {
	pattern := regexp.MustCompile(`^` + kind + `-[0-9a-f]{8,17}$`)
	return pattern.MatchString
}
