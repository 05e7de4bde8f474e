package aws

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/price"
)

// How long prices are good. The list changes a few times a year, and spot prices by
// the hour; the host asks for offers every five minutes.
const (
	listFresh, listLife = 12 * time.Hour, 7 * 24 * time.Hour
	spotFresh, spotLife = 4 * time.Minute, time.Hour
	// besides is how long one answer of offers waits for what it can do without:
	// prices and quotas. A service that hangs never keeps a fleet from launching.
	besides = 10 * time.Second
)

// prices are what types cost.
type prices struct {
	list *pricing.Client // nil: there is none for the region
	// onDemand has the zero price where the list has none.
	onDemand *facts[listed, provider.Price]
	// spot has the prices by zone.
	spot *facts[string, map[string]provider.Price]
}

// listed is what the price list has one line for.
type listed struct{ machineType, tenancy string }

func newPrices(loaded sdk.Config, region string, now func() time.Time) *prices {
	p := &prices{
		onDemand: newFacts[listed, provider.Price](now, listFresh, listLife),
		spot:     newFacts[string, map[string]provider.Price](now, spotFresh, spotLife),
	}
	if endpoint := price.Endpoint(region); endpoint != "" {
		p.list = pricing.NewFromConfig(loaded, func(o *pricing.Options) { o.Region = endpoint })
	}
	return p
}

// tenancies are the price list's words for the block's.
var tenancies = map[string]string{"default": "Shared", "dedicated": "Dedicated"}

// onDemandPrices are those of the list, as far as it has them. One that couldn't be
// refreshed is an estimate.
func (p *cloud) onDemandPrices(ctx context.Context, names []string, tenancy string) map[string]provider.Price {
	found := map[string]provider.Price{}
	for _, name := range names {
		key := listed{name, tenancies[tenancy]}
		known, fresh, _ := p.prices.onDemand.get(key)
		if !fresh && p.prices.list != nil && key.tenancy != "" && p.prices.onDemand.mayAsk() {
			asked, err := p.askList(ctx, key)
			if err == nil {
				p.prices.onDemand.put(key, asked)
				known, fresh = asked, true
			} else {
				p.prices.onDemand.fail()
				p.logger.Warn("the price list can't be read: offers have the prices that are known, or none", "error", err)
			}
		}
		if known.Currency != "" {
			known.Estimate = !fresh
			found[name] = known
		}
	}
	return found
}

// askList asks for one price; the zero one: the list doesn't say it. It is that of a
// system without a license of its own.
func (p *cloud) askList(ctx context.Context, of listed) (provider.Price, error) {
	input := &pricing.GetProductsInput{ServiceCode: sdk.String("AmazonEC2"), FormatVersion: sdk.String("aws_v1")}
	for _, condition := range [][2]string{
		{"regionCode", p.region()}, {"instanceType", of.machineType}, {"tenancy", of.tenancy}, {"operatingSystem", "Linux"},
		{"preInstalledSw", "NA"}, {"capacitystatus", "Used"}, {"operation", "RunInstances"}, {"marketoption", "OnDemand"},
	} {
		input.Filters = append(input.Filters,
			pricingtypes.Filter{Type: pricingtypes.FilterTypeTermMatch, Field: sdk.String(condition[0]),
				Value: sdk.String(condition[1])})
	}
	var lines []string
	for pages := pricing.NewGetProductsPaginator(p.prices.list, input); pages.HasMorePages(); {
		if err := p.limits.reading.Take(ctx); err != nil {
			return provider.Price{}, err
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return provider.Price{}, classified(err, "look up the price of %s", of.machineType)
		}
		lines = append(lines, page.PriceList...)
	}
	said, err := price.OnDemand(lines)
	if err != nil {
		p.logger.Info("a machine type has no price", "type", of.machineType, "tenancy", of.tenancy, "why", err)
		return provider.Price{}, nil
	}
	return said, nil
}

// spotPrices are the latest of each type in each zone. They are estimates: the vendor
// changes them while the machine runs.
func (p *cloud) spotPrices(ctx context.Context, names []string) map[place]provider.Price {
	var stale []string
	for _, name := range names {
		if _, fresh, _ := p.prices.spot.get(name); !fresh {
			stale = append(stale, name)
		}
	}
	if len(stale) > 0 && p.prices.spot.mayAsk() {
		if asked, err := p.askSpot(ctx, stale); err == nil {
			for _, name := range stale {
				p.prices.spot.put(name, asked[name])
			}
		} else {
			p.prices.spot.fail()
			p.logger.Warn("spot prices can't be read: offers have those that are known, or none", "error", err)
		}
	}
	found := map[place]provider.Price{}
	for _, name := range names {
		byZone, _, _ := p.prices.spot.get(name)
		for zone, one := range byZone {
			found[place{name, zone}] = one
		}
	}
	return found
}

// askSpot asks for the prices that hold now: a history from now to now has the last of
// each.
func (p *cloud) askSpot(ctx context.Context, names []string) (map[string]map[string]provider.Price, error) {
	now := p.now()
	input := &ec2.DescribeSpotPriceHistoryInput{StartTime: sdk.Time(now), EndTime: sdk.Time(now),
		ProductDescriptions: []string{"Linux/UNIX"}}
	for _, name := range names {
		input.InstanceTypes = append(input.InstanceTypes, types.InstanceType(name))
	}
	found, since := map[string]map[string]provider.Price{}, map[place]time.Time{}
	for pages := ec2.NewDescribeSpotPriceHistoryPaginator(p.api, input); pages.HasMorePages(); {
		if err := p.limits.describing.Take(ctx); err != nil {
			return nil, err
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, p.failed(err, "look up spot prices")
		}
		for _, one := range page.SpotPriceHistory {
			at := place{string(one.InstanceType), sdk.ToString(one.AvailabilityZone)}
			said, err := price.Of(sdk.ToString(one.SpotPrice), price.Currency(p.region()))
			if err != nil {
				return nil, fmt.Errorf("look up the spot price of %s in %s: %w", at.machineType, at.zone, err)
			}
			if before, seen := since[at]; seen && !sdk.ToTime(one.Timestamp).After(before) {
				continue
			}
			said.Estimate, since[at] = true, sdk.ToTime(one.Timestamp)
			if found[at.machineType] == nil {
				found[at.machineType] = map[string]provider.Price{}
			}
			found[at.machineType][at.zone] = said
		}
	}
	return found, nil
}

func (p *cloud) region() string { return p.api.Options().Region }
