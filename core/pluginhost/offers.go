//go:build unix

package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Offers asks the plugin's market what an instance block could be made of. Call it
// only where the plugin's services name Market. What the list leaves out of the
// answer it says.
func (p *Process) Offers(ctx context.Context, instance json.RawMessage) (fleet.OfferList, error) {
	request := &providerpb.OffersRequest{InstanceJson: instance}
	if refusal := p.refusal(ctx, request); refusal != nil {
		return fleet.OfferList{}, p.notSent("list its offers", refusal)
	}
	response, err := providerpb.NewMarketClient(p.conn).Offers(ctx, request)
	if err != nil {
		return fleet.OfferList{}, p.failed("list its offers", err)
	}
	list, err := offersOf(response)
	if err != nil {
		return fleet.OfferList{}, fmt.Errorf(
			"read the offers of %s: %w",
			p.launch.title(),
			&CallError{Class: fleet.ErrorInternal, Message: err.Error()},
		)
	}
	return list, nil
}

// offersOf converts a market's answer and checks it.
func offersOf(response *providerpb.OffersResponse) (fleet.OfferList, error) {
	list := fleet.OfferList{AsOf: timeOf(response.GetAsOf())}
	if n := len(response.GetOffers()); n > fleet.MaxOffers {
		_, _, err := fleet.CheckOffers(make([]fleet.Offer, n))
		return fleet.OfferList{}, err
	}
	var offers []fleet.Offer
	for _, offer := range response.GetOffers() {
		offers = append(offers, offerOf(offer))
	}
	var err error
	list.Offers, list.Ignored, err = fleet.CheckOffers(offers)
	return list, err
}

var priceTaxes = map[providerpb.Price_Tax]fleet.PriceTax{
	providerpb.Price_TAX_NET:   fleet.PriceNet,
	providerpb.Price_TAX_GROSS: fleet.PriceGross,
}

// offerOf converts one offer as it is said: CheckOffers says what is wrong with it.
func offerOf(o *providerpb.Offer) fleet.Offer {
	resources := fleet.ResourceCapacity{
		CPUMilli: o.GetResources().GetCpuMilli(), MemoryBytes: o.GetResources().GetMemoryBytes(),
		DiskBytes: o.GetResources().GetDiskBytes(), Named: o.GetResources().GetNamed(),
	}
	for name, count := range resources.Named {
		if name == "gpu" || strings.HasPrefix(name, "gpu/") {
			resources.GPU = sum(resources.GPU, count)
		}
	}
	offer := fleet.Offer{
		Zone:        o.GetZone(),
		Region:      o.GetRegion(),
		MachineType: o.GetMachineType(),
		Lifetime:    fleet.LifetimeClass(o.GetLifetime()),
		Platform:    fleet.Platform{OS: o.GetPlatform().GetOs(), Arch: o.GetPlatform().GetArch()},
		Resources:   resources,
		Price:       fleet.Money{Currency: o.GetPrice().GetCurrency(), Micros: o.GetPrice().GetMicrosPerHour()},
		Estimate:    o.GetPrice().GetEstimate(),
		Tax:         priceTaxes[o.GetPrice().GetTax()],
		Unavailable: shownText(o.GetUnavailable(), maxErrorName),
		Scope:       o.GetScope(),

		BillingGrain:      durationOf(o.GetBillingGrain()),
		MinimumCommitment: durationOf(o.GetMinimumCommitment()),
	}
	if monthly := o.GetPrice().GetMicrosPerMonth(); monthly != 0 {
		offer.MonthlyCap = fleet.Money{Currency: offer.Price.Currency, Micros: monthly}
	}
	for _, part := range o.GetPrice().GetParts() {
		offer.PriceParts = append(offer.PriceParts, fleet.PricePart{Name: part.GetName(), Micros: part.GetMicrosPerHour()})
	}
	if o != nil && o.Available != nil {
		available := int64(o.GetAvailable())
		offer.Available = &available
	}
	return offer
}

// sum adds without going round: what is beyond the numbers is refused later. One
// that is negative stays so.
func sum(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func offerMessage(o fleet.Offer) *providerpb.Offer {
	message := &providerpb.Offer{
		Zone: o.Zone, Region: o.Region, MachineType: o.MachineType, Lifetime: string(o.Lifetime),
		Resources: &providerpb.Resources{
			CpuMilli:    o.Resources.CPUMilli,
			MemoryBytes: o.Resources.MemoryBytes,
			DiskBytes:   o.Resources.DiskBytes,
			Named:       o.Resources.Named,
		},
		Platform: &providerpb.Platform{Os: o.Platform.OS, Arch: o.Platform.Arch},
		// What the price is made of is for people, and nothing that a request needs.
		Price: &providerpb.Price{
			Currency: o.Price.Currency, MicrosPerHour: o.Price.Micros, Estimate: o.Estimate,
		},
		Scope:             o.Scope,
		BillingGrain:      durationpb.New(o.BillingGrain),
		MinimumCommitment: durationpb.New(o.MinimumCommitment),
	}
	if o.Available != nil {
		available := uint32(*o.Available)
		message.Available = &available
	}
	return message
}
