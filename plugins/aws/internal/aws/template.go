package aws

import (
	"context"
	"fmt"
	"strconv"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// launchTemplate is one version of a launch template. Most of it EC2 itself adds to
// a launch that names it. Disks and the network interface are lists: one that a
// launch writes takes the place of the template's, so that they are put together
// here, where what a machine must have is known.
type launchTemplate struct {
	name string // for people
	spec *types.LaunchTemplateSpecification
	data *types.ResponseLaunchTemplateData
}

// templateOf reads a version once, since versions don't change. After a template was
// deleted and created again, its name belongs to another id, so launches use the id
// that the name had when it was read: what is launched is always what was read, and
// the first launch after that is refused.
func (p *cloud) templateOf(ctx context.Context, asked settings.LaunchTemplate) (*launchTemplate, error) {
	p.mutex.Lock()
	known := p.templates[asked]
	p.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	read := &launchTemplate{
		name: fmt.Sprintf("version %d of the launch template %s%s", asked.Version, asked.ID, asked.Name),
		spec: &types.LaunchTemplateSpecification{Version: sdk.String(strconv.Itoa(asked.Version))}}
	if asked.ID != "" {
		read.spec.LaunchTemplateId = sdk.String(asked.ID)
	} else {
		read.spec.LaunchTemplateName = sdk.String(asked.Name)
	}
	seen, err := gather(ctx, p,
		ec2.NewDescribeLaunchTemplateVersionsPaginator(p.api, &ec2.DescribeLaunchTemplateVersionsInput{
			LaunchTemplateId: read.spec.LaunchTemplateId, LaunchTemplateName: read.spec.LaunchTemplateName,
			Versions: []string{*read.spec.Version},
		}), func(page *ec2.DescribeLaunchTemplateVersionsOutput) []types.LaunchTemplateVersion {
			return page.LaunchTemplateVersions
		}, "look at %s", read.name)
	if err != nil {
		return nil, err
	}
	if len(seen) != 1 || seen[0].LaunchTemplateData == nil {
		return nil, fmt.Errorf("the account has no %s; write one that it has", read.name)
	}
	read.data = seen[0].LaunchTemplateData
	if id := seen[0].LaunchTemplateId; id != nil {
		read.spec.LaunchTemplateId, read.spec.LaunchTemplateName = id, nil
	}
	if err := read.fits(); err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.templates[asked] = read
	return read, nil
}

// forgetTemplate has a template read again, after a launch with it was refused.
func (p *cloud) forgetTemplate(asked settings.LaunchTemplate) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.templates, asked)
}

// doubtTemplate forgets the template of a launch that was refused as wrong. That
// its id is gone isn't a mistake of a block that names the template.
func (p *cloud) doubtTemplate(asked settings.LaunchTemplate, refused *provider.Error) {
	if refused.Class != provider.Invalid {
		return
	}
	p.forgetTemplate(asked)
	if asked.Name != "" && codeOf(refused) == "InvalidLaunchTemplateId.NotFound" {
		refused.Class = provider.Transient
		refused.Err = fmt.Errorf("the launch template %s was deleted since it was read and is looked up again: %w",
			asked.Name, refused.Err)
	}
}

// fits says what of a template no launch of the manager can be made with.
func (t *launchTemplate) fits() error {
	wrong := func(what, instead string) error {
		return &provider.Error{Class: provider.Invalid, Err: fmt.Errorf("%s %s; %s", t.name, what, instead)}
	}
	placement := t.data.Placement
	switch {
	case t.data.InstanceMarketOptions != nil:
		return wrong("chooses the market", "leave its market options out: the manager decides what is spot")
	case len(t.data.NetworkInterfaces) > 1:
		return wrong(fmt.Sprintf("has %d network interfaces", len(t.data.NetworkInterfaces)),
			"leave it one: the machine gets one, in a subnet of the block")
	case len(t.data.SecurityGroupIds)+len(t.data.SecurityGroups) > 0:
		return wrong("has security groups outside of a network interface",
			"put them into its network interface, or into security_groups of the block")
	case placement != nil &&
		(placement.Tenancy == types.TenancyHost || placement.HostId != nil || placement.HostResourceGroupArn != nil):
		return wrong("places machines on dedicated hosts",
			"write tenancy = \"host\" in the block instead, so that the manager knows of the hosts")
	}
	return nil
}

// under lays the template under a launch: what the block doesn't say is the
// template's, and what every machine must have stays the launch's.
func (t *launchTemplate) under(input *ec2.RunInstancesInput, instance settings.Instance) error {
	input.LaunchTemplate = t.spec
	if t.data.DisableApiTermination != nil {
		input.DisableApiTermination = sdk.Bool(false) // otherwise it couldn't be terminated
	}
	face := &input.NetworkInterfaces[0]
	if len(face.Groups) == 0 && len(t.data.NetworkInterfaces) == 1 {
		face.Groups = t.data.NetworkInterfaces[0].Groups
	}
	if len(face.Groups) == 0 {
		return &provider.Error{Class: provider.Invalid,
			Err: fmt.Errorf(
				"%s has no security groups in its network interface; put some there, or into security_groups of the block", t.name)}
	}
	root := &input.BlockDeviceMappings[0]
	for _, mapping := range t.data.BlockDeviceMappings {
		isRoot := sdk.ToString(mapping.DeviceName) == sdk.ToString(root.DeviceName)
		switch {
		case isRoot && instance.Root == nil:
			root.Ebs = diskIn(mapping.Ebs)
		case isRoot:
		default:
			input.BlockDeviceMappings = append(input.BlockDeviceMappings, types.BlockDeviceMapping{
				DeviceName: mapping.DeviceName, NoDevice: mapping.NoDevice, VirtualName: mapping.VirtualName,
				Ebs: furtherDisk(mapping.Ebs),
			})
		}
	}
	return nil
}

// diskIn is a template's disk as a launch may have it: encrypted, and never left
// behind.
func diskIn(template *types.LaunchTemplateEbsBlockDevice) *types.EbsBlockDevice {
	disk := diskOf(nil)
	if template == nil {
		return disk
	}
	if template.VolumeType != "" {
		disk.VolumeType = template.VolumeType
	}
	disk.VolumeSize, disk.Iops, disk.Throughput = template.VolumeSize, template.Iops, template.Throughput
	disk.KmsKeyId, disk.SnapshotId, disk.VolumeInitializationRate = template.KmsKeyId, template.SnapshotId,
		template.VolumeInitializationRate
	return disk
}

// furtherDisk is nil for what isn't a volume, such as the machine's own disks.
func furtherDisk(template *types.LaunchTemplateEbsBlockDevice) *types.EbsBlockDevice {
	if template == nil {
		return nil
	}
	return diskIn(template)
}
