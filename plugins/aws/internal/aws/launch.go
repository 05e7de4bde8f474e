package aws

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

func encode(document []byte) string { return base64.StdEncoding.EncodeToString(document) }

// diskOf is the root volume: always encrypted, and never left behind.
func diskOf(root *settings.RootVolume) *types.EbsBlockDevice {
	disk := &types.EbsBlockDevice{Encrypted: sdk.Bool(true), DeleteOnTermination: sdk.Bool(true),
		VolumeType: types.VolumeTypeGp3}
	if root == nil {
		return disk
	}
	disk.VolumeType = types.VolumeType(root.Type)
	for _, number := range []struct {
		to   **int32
		from int
	}{{&disk.VolumeSize, root.Size}, {&disk.Iops, root.IOPS}, {&disk.Throughput, root.Throughput}} {
		if number.from > 0 {
			*number.to = sdk.Int32(int32(number.from))
		}
	}
	if root.KMSKey != "" {
		disk.KmsKeyId = sdk.String(root.KMSKey)
	}
	return disk
}

// choose adds what a fleet may leave out.
func choose(input *ec2.RunInstancesInput, instance settings.Instance, spot bool) {
	if spot {
		input.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot,
			SpotOptions: &types.SpotMarketOptions{
				SpotInstanceType:             types.SpotInstanceTypeOneTime,
				InstanceInterruptionBehavior: types.InstanceInterruptionBehaviorTerminate,
			}}
	}
	switch profile := instance.Profile; {
	case strings.HasPrefix(profile, "arn:"):
		input.IamInstanceProfile = &types.IamInstanceProfileSpecification{Arn: sdk.String(profile)}
	case profile != "":
		input.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: sdk.String(profile)}
	}
	if instance.KeyName != "" {
		input.KeyName = sdk.String(instance.KeyName)
	}
	if instance.Nested && !settings.Metal(string(input.InstanceType)) {
		input.CpuOptions = &types.CpuOptionsRequest{NestedVirtualization: types.NestedVirtualizationSpecificationEnabled}
	}
	if instance.Reservation != "" && !spot {
		input.CapacityReservationSpecification = &types.CapacityReservationSpecification{
			CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: sdk.String(instance.Reservation)},
		}
	}
	if instance.Tenancy == "dedicated" {
		input.Placement = &types.Placement{Tenancy: types.TenancyDedicated}
	}
}

// subnetIn is the first of the subnets that is in the zone; an empty zone: the first.
func (p *cloud) subnetIn(ctx context.Context, subnets []string, zone string) (string, error) {
	if zone == "" {
		return subnets[0], nil
	}
	zones, err := p.zonesOf(ctx, subnets)
	if err != nil {
		return "", err
	}
	for _, one := range subnets {
		if zones[one] == zone {
			return one, nil
		}
	}
	return "", fmt.Errorf("none of the subnets %s is in the zone %s", strings.Join(subnets, ", "), zone)
}

// zonesOf are the zones of the subnets. A subnet never moves, so it is asked for
// once.
func (p *cloud) zonesOf(ctx context.Context, subnets []string) (map[string]string, error) {
	known := map[string]string{}
	var unknown []string
	p.mutex.Lock()
	for _, one := range subnets {
		if zone, ok := p.subnets[one]; ok {
			known[one] = zone
		} else {
			unknown = append(unknown, one)
		}
	}
	p.mutex.Unlock()
	if len(unknown) == 0 {
		return known, nil
	}
	seen, err := gather(ctx, p, ec2.NewDescribeSubnetsPaginator(p.api, &ec2.DescribeSubnetsInput{SubnetIds: unknown}),
		func(page *ec2.DescribeSubnetsOutput) []types.Subnet {
			return page.Subnets
		}, "look at the subnets %s", strings.Join(unknown, ", "))
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, one := range seen {
		id, zone := sdk.ToString(one.SubnetId), sdk.ToString(one.AvailabilityZone)
		known[id], p.subnets[id] = zone, zone
	}
	return known, nil
}
