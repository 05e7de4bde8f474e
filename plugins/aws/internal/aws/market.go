package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// Offers are the types of the block in the zones of its subnets, as far as the type
// is there: on demand and, where the type has it, as spot. Prices and what quotas
// leave are said where they are known.
func (p *cloud) Offers(ctx context.Context, instance settings.Instance) (provider.OfferList, error) {
	zones, err := p.zonesOf(ctx, instance.Subnets)
	if err != nil {
		return provider.OfferList{}, err
	}
	described, err := p.typesOf(ctx, instance.Types)
	if err != nil {
		return provider.OfferList{}, err
	}
	there, err := p.offerings(ctx, instance.Types)
	if err != nil {
		return provider.OfferList{}, err
	}
	offered := p.trade(ctx, instance, described)
	list := provider.OfferList{AsOf: p.now()}
	var done []string
	for _, subnet := range instance.Subnets {
		zone := zones[subnet]
		if zone == "" || slices.Contains(done, zone) {
			continue // of several subnets in a zone the first is used
		}
		done = append(done, zone)
		for _, one := range described {
			if there[place{string(one.InstanceType), zone}] {
				list.Offers = append(list.Offers, offered(one, zone)...)
			}
		}
	}
	if len(list.Offers) == 0 {
		return provider.OfferList{}, &provider.Error{Class: provider.Invalid, Err: fmt.Errorf(
			"none of %s is offered in %s; write other types, or a subnet in another zone", strings.Join(instance.Types, ", "),
			strings.Join(done, ", "))}
	}
	return list, nil
}

// lifetimes are the vendor's words for what the host calls a lifetime.
var lifetimes = []struct {
	class types.UsageClassType
	name  string
}{{types.UsageClassTypeOnDemand, "stable"}, {types.UsageClassTypeSpot, "preemptible"}}

// A machine is paid for by the second, and for a minute at least.
const billingGrain, minimumCommitment = time.Second, time.Minute

// leastPaid is how long a machine of a type is paid for at least. That of a Mac is its
// host's, unless the host was used before.
func leastPaid(machineType string) time.Duration {
	if settings.Mac(machineType) {
		return macMinimum
	}
	return minimumCommitment
}

// trade gives what makes the offers of a type in a zone. What all of them need is asked
// for at once, so that one service that hangs doesn't take the others' time. On
// dedicated hosts there is no spot market, and neither the list's prices nor the quotas
// of virtual cpus are of them.
func (p *cloud) trade(ctx context.Context, instance settings.Instance,
	described []types.InstanceTypeInfo) func(one types.InstanceTypeInfo, zone string) []provider.Offer {
	ctx, end := context.WithTimeout(ctx, besides)
	defer end()
	shared := slices.DeleteFunc(slices.Clone(instance.Types), instance.OnHost)
	var onDemand map[string]provider.Price
	var spot map[place]provider.Price
	var left map[traded]*uint32
	var asking sync.WaitGroup
	asking.Go(func() { onDemand = p.onDemandPrices(ctx, shared, instance.Tenancy) })
	asking.Go(func() { spot = p.spotPrices(ctx, shared) })
	asking.Go(func() { left = p.allLeft(ctx, instance, described) })
	asking.Wait()
	return func(one types.InstanceTypeInfo, zone string) []provider.Offer {
		var all []provider.Offer
		for _, lifetime := range lifetimes {
			ofSpot := lifetime.class == types.UsageClassTypeSpot
			if !slices.Contains(one.SupportedUsageClasses, lifetime.class) ||
				ofSpot && instance.OnHost(string(one.InstanceType)) {
				continue
			}
			cost := onDemand[string(one.InstanceType)]
			if ofSpot {
				cost = spot[place{string(one.InstanceType), zone}]
			}
			all = append(all, provider.Offer{
				Zone: zone, Region: p.region(), MachineType: string(one.InstanceType), Lifetime: lifetime.name, Platform: runs(one),
				Resources: resourcesOf(one), Price: cost, BillingGrain: billingGrain,
				MinimumCommitment: leastPaid(string(one.InstanceType)),
				Available:         left[traded{one.InstanceType, lifetime.class}],
			})
		}
		return all
	}
}

// resourcesOf is what the vendor says that the type has.
func resourcesOf(one types.InstanceTypeInfo) provider.Resources {
	var has provider.Resources
	if one.VCpuInfo != nil {
		has.CPUMilli = int64(sdk.ToInt32(one.VCpuInfo.DefaultVCpus)) * 1000
	}
	if one.MemoryInfo != nil {
		has.MemoryBytes = sdk.ToInt64(one.MemoryInfo.SizeInMiB) << 20
	}
	if one.GpuInfo != nil {
		has.Named = map[string]int64{}
		for _, gpu := range one.GpuInfo.Gpus {
			has.Named["gpu/"+strings.ToLower(sdk.ToString(gpu.Name))] += int64(sdk.ToInt32(gpu.Count))
		}
	}
	return has
}

// typesOf describes the types, in the order of the names.
func (p *cloud) typesOf(ctx context.Context, names []string) ([]types.InstanceTypeInfo, error) {
	input := &ec2.DescribeInstanceTypesInput{}
	for _, name := range names {
		input.InstanceTypes = append(input.InstanceTypes, types.InstanceType(name))
	}
	all, err := gather(ctx, p, ec2.NewDescribeInstanceTypesPaginator(p.api, input),
		func(page *ec2.DescribeInstanceTypesOutput) []types.InstanceTypeInfo {
			return page.InstanceTypes
		}, "look at the instance types %s", strings.Join(names, ", "))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b types.InstanceTypeInfo) int {
		return slices.Index(names, string(a.InstanceType)) - slices.Index(names, string(b.InstanceType))
	})
	return all, nil
}

// place is a type in a zone.
type place struct{ machineType, zone string }

// offerings are the places where there are such types at all.
func (p *cloud) offerings(ctx context.Context, names []string) (map[place]bool, error) {
	input := &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone,
		Filters:      []types.Filter{{Name: sdk.String("instance-type"), Values: names}},
	}
	seen, err := gather(ctx, p, ec2.NewDescribeInstanceTypeOfferingsPaginator(p.api, input),
		func(page *ec2.DescribeInstanceTypeOfferingsOutput) []types.InstanceTypeOffering {
			return page.InstanceTypeOfferings
		},
		"look where there are %s", strings.Join(names, ", "))
	if err != nil {
		return nil, err
	}
	there := map[place]bool{}
	for _, one := range seen {
		there[place{string(one.InstanceType), sdk.ToString(one.Location)}] = true
	}
	return there, nil
}
