package aws

import (
	"context"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// The kinds of what belongs to a machine.
const (
	kindVolume    = "volume"
	kindInterface = "network-interface"
	kindSpot      = "spot-request"
	kindHost      = "dedicated-host"
)

// kindOf is the kind of what an id names; empty: nothing that belongs to a machine.
func kindOf(id string) string {
	for prefix, kind := range map[string]string{
		settings.VolumeID: kindVolume, settings.InterfaceID: kindInterface, settings.SpotRequestID: kindSpot,
		settings.HostID: kindHost,
	} {
		if strings.HasPrefix(id, prefix) {
			return kind
		}
	}
	return ""
}

// part is something that a machine has and that may outlive it.
type part struct {
	kind, id, zone string
	created        time.Time // zero: the API doesn't say
	labels         labels
	holder         string // the instance that has it; empty: none
	// What only dedicated hosts have.
	machineType string
	paidUntil   time.Time
	kept        string // why it can't be removed now
	foreign     bool   // somebody else made it, with our tags
}

// resource is the part as the manager has it, with the tags of whose it is.
func (one part) resource(l labels) provider.Resource {
	r := provider.Resource{
		ID: one.id, Key: l.key(), Fleet: l[tagFleet], Tags: l.host(), BelongsTo: one.holder, Kind: one.kind,
		State: provider.Running,
		Zone:  one.zone, Created: one.created, MachineType: one.machineType, BilledUntil: one.paidUntil, Detail: one.kept,
	}
	if one.kept != "" && (one.foreign || one.holder == "") {
		r.Kind, r.Key = kindAsset, ""
	}
	return r
}

// partsOf lists what the filters let through, but for machines.
func (p *cloud) partsOf(ctx context.Context, filters []types.Filter) ([]part, error) {
	var all []part
	for _, look := range []func() ([]part, error){
		func() ([]part, error) { return p.volumeParts(ctx, &ec2.DescribeVolumesInput{Filters: filters}) },
		func() ([]part, error) {
			return p.interfaceParts(ctx, &ec2.DescribeNetworkInterfacesInput{Filters: filters})
		},
		func() ([]part, error) {
			return p.spotParts(ctx, &ec2.DescribeSpotInstanceRequestsInput{Filters: filters})
		},
		func() ([]part, error) { return p.hostParts(ctx, &ec2.DescribeHostsInput{Filter: filters}) },
	} {
		found, err := look()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// partByID looks at one thing; nil: it is gone, or over.
func (p *cloud) partByID(ctx context.Context, id string) (*part, error) {
	var found []part
	var err error
	switch ids := []string{id}; kindOf(id) {
	case kindVolume:
		found, err = p.volumeParts(ctx, &ec2.DescribeVolumesInput{VolumeIds: ids})
	case kindInterface:
		found, err = p.interfaceParts(ctx, &ec2.DescribeNetworkInterfacesInput{NetworkInterfaceIds: ids})
	case kindSpot:
		found, err = p.spotParts(ctx, &ec2.DescribeSpotInstanceRequestsInput{SpotInstanceRequestIds: ids})
	case kindHost:
		found, err = p.hostParts(ctx, &ec2.DescribeHostsInput{HostIds: ids})
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func (p *cloud) volumeParts(ctx context.Context, input *ec2.DescribeVolumesInput) ([]part, error) {
	seen, err := p.volumes(ctx, input)
	var found []part
	for _, one := range seen {
		found = append(found,
			part{kind: kindVolume, id: sdk.ToString(one.VolumeId), labels: read(one.Tags), holder: holderOf(one),
				zone: sdk.ToString(one.AvailabilityZone), created: sdk.ToTime(one.CreateTime)})
	}
	return found, err
}

// holderOf is the instance that a volume is attached to; empty: none.
func holderOf(v types.Volume) string {
	for _, attachment := range v.Attachments {
		if attachment.State != types.VolumeAttachmentStateDetached {
			return sdk.ToString(attachment.InstanceId)
		}
	}
	return ""
}

func (p *cloud) interfaceParts(ctx context.Context, input *ec2.DescribeNetworkInterfacesInput) ([]part, error) {
	seen, err := p.interfaces(ctx, input)
	var found []part
	for _, one := range seen {
		found = append(found,
			part{kind: kindInterface, id: sdk.ToString(one.NetworkInterfaceId), labels: read(one.TagSet), holder: userOf(one),
				zone: sdk.ToString(one.AvailabilityZone)})
	}
	return found, err
}

// userOf is the instance that a network interface is attached to; empty: none.
func userOf(n types.NetworkInterface) string {
	if n.Attachment == nil || n.Attachment.Status == types.AttachmentStatusDetached {
		return ""
	}
	return sdk.ToString(n.Attachment.InstanceId)
}

// spotParts leaves out the requests that are over, which cost nothing and can't be
// removed.
func (p *cloud) spotParts(ctx context.Context, input *ec2.DescribeSpotInstanceRequestsInput) ([]part, error) {
	seen, err := p.spotRequests(ctx, input)
	var found []part
	for _, one := range seen {
		if one.State != types.SpotInstanceStateOpen && one.State != types.SpotInstanceStateActive {
			continue
		}
		found = append(found,
			part{kind: kindSpot, id: sdk.ToString(one.SpotInstanceRequestId), labels: read(one.Tags),
				holder: sdk.ToString(one.InstanceId),
				zone:   sdk.ToString(one.LaunchedAvailabilityZone), created: sdk.ToTime(one.CreateTime)})
	}
	return found, err
}

func (p *cloud) hostParts(ctx context.Context, input *ec2.DescribeHostsInput) ([]part, error) {
	seen, err := p.hosts(ctx, input)
	var found []part
	for _, one := range seen {
		found = append(found,
			part{kind: kindHost, id: one.id, labels: one.labels, holder: one.occupant, zone: one.zone, created: one.allocated,
				machineType: one.machineType, paidUntil: one.paidUntil(), kept: one.kept(p.now()), foreign: one.foreign})
	}
	return found, err
}
