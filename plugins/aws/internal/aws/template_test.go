package aws

import (
	"maps"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

const templateID = "lt-0a000000000000001"

// careless is a launch template that says of everything the opposite of what a
// machine of a fleet must be.
var careless = map[string]string{
	"ImageId": "ami-0a000000000000002", "InstanceType": "m7g.large", "KeyName": "on-call",
	"IamInstanceProfile.Name": "runner", "UserData": "ZWNobwo=",
	"InstanceInitiatedShutdownBehavior": "stop", "DisableApiTermination": "true",
	"MetadataOptions.HttpTokens": "optional", "MetadataOptions.HttpPutResponseHopLimit": "5",
	"MetadataOptions.HttpEndpoint":   "disabled",
	"NetworkInterface.1.DeviceIndex": "0", "NetworkInterface.1.SecurityGroupId.1": group,
	"NetworkInterface.1.SubnetId":                 "subnet-0a000000000000003",
	"NetworkInterface.1.AssociatePublicIpAddress": "true", "NetworkInterface.1.DeleteOnTermination": "false",
	"BlockDeviceMapping.1.DeviceName": "/dev/sda1", "BlockDeviceMapping.1.Ebs.VolumeSize": "50",
	"BlockDeviceMapping.1.Ebs.VolumeType": "gp2",
	"BlockDeviceMapping.1.Ebs.Encrypted":  "false", "BlockDeviceMapping.1.Ebs.DeleteOnTermination": "false",
	"BlockDeviceMapping.2.DeviceName": "/dev/sdf", "BlockDeviceMapping.2.Ebs.VolumeSize": "100",
	"BlockDeviceMapping.2.Ebs.DeleteOnTermination": "false",
	"TagSpecification.1.ResourceType":              "instance",
	"TagSpecification.1.Tag.1.Key":                 "forgeyard-fleet:installation",
	"TagSpecification.1.Tag.1.Value":               "another",
}

// withTemplate asks for a machine by a template that has the security groups.
func withTemplate() request {
	one := asked()
	one.Instance.Groups, one.Instance.Template = nil, &settings.LaunchTemplate{ID: templateID, Version: 1}
	return one
}

// described is the one machine of the account, with its volumes by device.
func described(t *testing.T, p *cloud) (types.Instance, map[string]types.Volume) {
	t.Helper()
	seen, err := p.instances(t.Context(), &ec2.DescribeInstancesInput{})
	if err != nil || len(seen) != 1 {
		t.Fatalf("wanted one machine, got %d, %v", len(seen), err)
	}
	volumes, err := p.volumes(t.Context(), &ec2.DescribeVolumesInput{})
	if err != nil {
		t.Fatal(err)
	}
	byDevice := map[string]types.Volume{}
	for _, one := range volumes {
		byDevice[sdk.ToString(one.Attachments[0].Device)] = one
	}
	return seen[0], byDevice
}

func TestALaunchTemplateGivesWhatTheBlockDoesNotSay(t *testing.T) {
	l := newLab(t, ec2sim.Options{LargestPage: 1})
	l.AddLaunchTemplate(templateID, "runners", careless)
	p := l.start(t)
	if _, err := p.Provision(t.Context(), withTemplate()); err != nil {
		t.Fatal(err)
	}
	made, volumes := described(t, p)
	if sdk.ToString(made.KeyName) != "on-call" || made.IamInstanceProfile == nil || len(made.SecurityGroups) != 1 ||
		sdk.ToString(made.SecurityGroups[0].GroupId) != group {
		t.Errorf("the key, the profile and the groups aren't the template's: %v %v %v", sdk.ToString(made.KeyName),
			made.IamInstanceProfile, made.SecurityGroups)
	}
	root, further := volumes["/dev/sda1"], volumes["/dev/sdf"]
	if sdk.ToInt32(root.Size) != 50 || root.VolumeType != types.VolumeTypeGp2 || sdk.ToInt32(further.Size) != 100 {
		t.Errorf("the disks aren't the template's: %+v %+v", root, further)
	}
}

func TestWhatEveryMachineMustHaveIsOverItsLaunchTemplate(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	l.AddLaunchTemplate(templateID, "runners", careless)
	p := l.start(t)
	resource, err := p.Provision(t.Context(), withTemplate())
	if err != nil {
		t.Fatal(err)
	}
	made, volumes := described(t, p)
	options := made.MetadataOptions
	if options.HttpTokens != types.HttpTokensStateRequired || sdk.ToInt32(options.HttpPutResponseHopLimit) != 1 ||
		options.HttpEndpoint != types.InstanceMetadataEndpointStateEnabled {
		t.Errorf("the metadata service is as the template says: %+v", options)
	}
	if made.PublicIpAddress != nil || sdk.ToString(made.SubnetId) != subnet || made.InstanceType != "c7i.large" ||
		sdk.ToString(made.ImageId) != image || sdk.ToString(made.ClientToken) != key {
		t.Errorf("the machine is the template's and not the block's: %v %v %v %v", made.PublicIpAddress, *made.SubnetId,
			made.InstanceType, *made.ImageId)
	}
	for device, one := range volumes {
		if !sdk.ToBool(one.Encrypted) || read(one.Tags).key() != key {
			t.Errorf("%s isn't encrypted, or hasn't our tags: %v", device, read(one.Tags))
		}
	}
	input, err := p.launch(t.Context(), withTemplate())
	if err != nil {
		t.Fatal(err)
	}
	if input.InstanceInitiatedShutdownBehavior != types.ShutdownBehaviorTerminate ||
		sdk.ToString(input.UserData) == careless["UserData"] || len(sdk.ToString(input.UserData)) == 0 {
		t.Error("the machine outlives its shutdown, or boots with the template's user data")
	}
	l.end(t, p, resource.ID) // nothing protects it, and nothing outlives it
}

func TestTheBlockIsOverItsLaunchTemplate(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	l.AddLaunchTemplate(templateID, "runners", careless)
	p := l.start(t)
	one := withTemplate()
	one.Instance.Template = &settings.LaunchTemplate{Name: "runners", Version: 1}
	one.Instance.KeyName, one.Instance.Profile, one.Instance.PublicAddress = "ours", "builder", true
	one.Instance.Root = &settings.RootVolume{Type: "gp3", Size: 20}
	if _, err := p.Provision(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	made, volumes := described(t, p)
	root := volumes["/dev/sda1"]
	if sdk.ToString(made.KeyName) != "ours" ||
		!strings.HasSuffix(sdk.ToString(made.IamInstanceProfile.Arn), "/builder") || made.PublicIpAddress == nil ||
		sdk.ToInt32(root.Size) != 20 || root.VolumeType != types.VolumeTypeGp3 {
		t.Errorf("the template's word counts more than the block's: %v %v %+v", sdk.ToString(made.KeyName),
			made.IamInstanceProfile, root)
	}
}

// A restarted plugin reads the template again, and must send the same bytes.
func TestALostAnswerOfALaunchByTemplateMakesOneMachine(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: ec2sim.Delays{Visible: time.Minute}})
	l.AddLaunchTemplate(templateID, "runners", careless)
	l.Inject(ec2sim.Fault{Operation: "RunInstances", After: true})
	if _, err := l.start(t).Provision(t.Context(), withTemplate()); err == nil || provider.IsNotCreated(err) {
		t.Fatalf("wanted a failure that claims nothing, got %v", err)
	}
	l.AddLaunchTemplate(templateID, "runners", map[string]string{"KeyName": "of the second version"})
	p := l.start(t)
	if _, err := p.Provision(t.Context(), withTemplate()); err != nil {
		t.Fatal(err)
	}
	l.Advance(time.Minute)
	described(t, p)
}

func TestALaunchTemplateThatDecidesWhatTheManagerDecidesIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]string
		says   string
	}{
		"it is of the spot market": {map[string]string{"InstanceMarketOptions.MarketType": "spot"}, "market"},
		"it has two network interfaces": {map[string]string{"NetworkInterface.2.DeviceIndex": "1"},
			"2 network interfaces"},
		"its groups are of no interface": {map[string]string{"SecurityGroupId.1": group},
			"outside of a network interface"},
		"it places machines on dedicated hosts": {map[string]string{"Placement.Tenancy": "host"}, `tenancy = "host"`},
		"it has no groups": {map[string]string{"NetworkInterface.1.SecurityGroupId.1": ""},
			"no security groups"},
	} {
		l := newLab(t, ec2sim.Options{})
		parameters := maps.Clone(careless)
		maps.Copy(parameters, c.change)
		maps.DeleteFunc(parameters, func(_, value string) bool { return value == "" })
		l.AddLaunchTemplate(templateID, "runners", parameters)
		_, err := l.start(t).Provision(t.Context(), withTemplate())
		if !provider.IsNotCreated(err) || classOf(err) != provider.Invalid || !strings.Contains(err.Error(), c.says) ||
			l.Calls("RunInstances") != 0 {
			t.Errorf("%s: wanted a complaint of %q before any launch, got %v", name, c.says, err)
		}
	}
}

func TestALaunchTemplateThatIsNotThereIsAFaultOfTheBlock(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	if _, err := p.Provision(t.Context(), withTemplate()); !provider.IsNotCreated(err) ||
		classOf(err) != provider.Invalid {
		t.Fatalf("wanted a complaint, got %v", err)
	}
	l.AddLaunchTemplate(templateID, "runners", careless)
	if _, err := p.Provision(t.Context(), withTemplate()); err != nil {
		t.Fatalf("it is there now: %v", err)
	}
	second := withTemplate()
	second.Key, second.Instance.Template = "01jx0000000000000000000002",
		&settings.LaunchTemplate{ID: templateID, Version: 2}
	if _, err := p.Provision(t.Context(), second); !provider.IsNotCreated(err) || classOf(err) != provider.Invalid ||
		!strings.Contains(err.Error(), "version 2") {
		t.Fatalf("wanted a complaint of the version, got %v", err)
	}
}

// The name is another's then, and what was read of the first is of no use.
func TestRecreatedLaunchTemplateIsFoundWithoutRestart(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	l.AddLaunchTemplate(templateID, "runners", careless)
	p := l.start(t)
	ask := func(n string) (provider.Resource, error) {
		one := withTemplate()
		one.Key, one.Instance.Template = "01jx000000000000000000000"+n, &settings.LaunchTemplate{Name: "runners", Version: 1}
		return p.Provision(t.Context(), one)
	}
	if _, err := ask("1"); err != nil {
		t.Fatal(err)
	}
	again := maps.Clone(careless)
	again["KeyName"] = "of the second"
	l.RemoveLaunchTemplate(templateID)
	l.AddLaunchTemplate("lt-0a000000000000002", "runners", again)
	if _, err := ask("2"); !provider.IsNotCreated(err) || classOf(err) != provider.Transient ||
		!strings.Contains(err.Error(), "looked up again") {
		t.Fatalf("wanted a refusal that comes again, got %v", err)
	}
	made, err := ask("3")
	if err != nil {
		t.Fatal(err)
	}
	seen, err := p.instances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{made.ID}})
	if err != nil || len(seen) != 1 || sdk.ToString(seen[0].KeyName) != "of the second" {
		t.Fatalf("it isn't of the second template: %+v, %v", seen, err)
	}
	l.RemoveLaunchTemplate("lt-0a000000000000002")
	if _, err := ask("4"); !provider.IsNotCreated(err) || classOf(err) != provider.Transient {
		t.Fatalf("it was deleted: %v", err)
	}
	if _, err := ask("5"); !provider.IsNotCreated(err) || classOf(err) != provider.Invalid ||
		!strings.Contains(err.Error(), "runners") {
		t.Fatalf("there is none of its name: wanted a complaint of the block, got %v", err)
	}
}

// It is never launched with, so that no refusal would tell.
func TestALaunchTemplateThatWasMendedIsReadAnew(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	without := maps.Clone(careless)
	delete(without, "NetworkInterface.1.SecurityGroupId.1")
	l.AddLaunchTemplate(templateID, "runners", without)
	p := l.start(t)
	one := withTemplate()
	one.Instance.Template = &settings.LaunchTemplate{Name: "runners", Version: 1}
	if _, err := p.Provision(t.Context(), one); classOf(err) != provider.Invalid ||
		!strings.Contains(err.Error(), "no security groups") {
		t.Fatalf("wanted a complaint, got %v", err)
	}
	l.RemoveLaunchTemplate(templateID)
	l.AddLaunchTemplate("lt-0a000000000000002", "runners", careless)
	if _, err := p.Provision(t.Context(), one); err != nil {
		t.Fatalf("it has groups now: %v", err)
	}
}
