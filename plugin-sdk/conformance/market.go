package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var marketRules = []Rule{
	{
		Name: "offers-good", check: offersGood,
		Says: "Offers lists zone, machine type and lifetime once each, with prices that add up and have one currency.",
	},
}

var offerRules = []Rule{
	{
		Name: "offer-used", check: offerUsed, Creates: true,
		Says: "An instance is made of an offer of its request, and listed with the zone and machine type of it.",
	},
}

// maxRequestOffers is how many offers the host sends in one request.
const maxRequestOffers = 32

// offersGood asks the market and keeps what requests may use.
func offersGood(ctx context.Context, b *bench) error {
	if b.info == nil {
		return errNoInfo
	}
	if !b.offers(providerpb.MarketService) {
		return skip("GetInfo doesn't name %q", providerpb.MarketService)
	}
	if _, err := b.ready(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, inspectCall)
	defer cancel()
	response, err := providerpb.NewMarketClient(b.running.Connection()).Offers(limited,
		&providerpb.OffersRequest{InstanceJson: b.options.Instance})
	if err != nil {
		return fmt.Errorf("offers: %w", err)
	}
	offers := response.GetOffers()
	if len(offers) == 0 {
		return fmt.Errorf("there is no offer for the instance block; list what it could be made of, also where it " +
			"can't be had now (unavailable)")
	}
	named := map[string]bool{}
	currency := ""
	for _, offer := range offers {
		name := nameOf(offer)
		if err := goodOffer(offer); err != nil {
			return fmt.Errorf("the offer %s: %w", name, err)
		}
		if named[name] {
			return fmt.Errorf("the offer %s is listed twice", name)
		}
		named[name] = true
		if own := offer.GetPrice().GetCurrency(); own != "" {
			if currency != "" && own != currency {
				return fmt.Errorf("there are prices in %s and in %s", currency, own)
			}
			currency = own
		}
	}
	b.usable = requestOffers(offers)
	return nil
}

func nameOf(o *providerpb.Offer) string {
	return fmt.Sprintf("%s/%s/%s", o.GetZone(), o.GetMachineType(), o.GetLifetime())
}

// goodOffer finds what the host would leave an offer out for.
func goodOffer(o *providerpb.Offer) error {
	price := o.GetPrice()
	sum := int64(0)
	for _, part := range price.GetParts() {
		if part.GetName() == "" || part.GetMicrosPerHour() < 0 {
			return fmt.Errorf("a part of its price has no name or is negative")
		}
		sum += part.GetMicrosPerHour()
	}
	switch {
	case o.GetLifetime() != "stable" && o.GetLifetime() != "preemptible":
		return fmt.Errorf("its lifetime %q is neither stable nor preemptible", o.GetLifetime())
	case price.GetMicrosPerHour() < 0 || price.GetMicrosPerMonth() < 0:
		return fmt.Errorf("its price is negative")
	case price.GetMicrosPerHour() > 0 && price.GetCurrency() == "":
		return fmt.Errorf("its price has no currency")
	case len(price.GetParts()) > 0 && sum != price.GetMicrosPerHour():
		return fmt.Errorf("the parts of its price are %d millionths together, and the price is %d", sum,
			price.GetMicrosPerHour())
	}
	return nil
}

// requestOffers are those that a request may have, as the host chooses them: of one
// lifetime, and such as can be had.
func requestOffers(all []*providerpb.Offer) []*providerpb.Offer {
	for _, lifetime := range []string{"stable", "preemptible"} {
		usable := slices.DeleteFunc(slices.Clone(all), func(o *providerpb.Offer) bool {
			soldOut := o.Available != nil && o.GetAvailable() == 0
			return o.GetLifetime() != lifetime || o.GetUnavailable() != "" || soldOut
		})
		if len(usable) > 0 {
			return usable[:min(len(usable), maxRequestOffers)]
		}
	}
	return nil
}

// offerUsed sends the last of the offers only: a plugin that makes what it likes makes
// another.
func offerUsed(ctx context.Context, b *bench) error {
	if len(b.usable) == 0 {
		return skip("it has no market, or nothing that can be had")
	}
	if len(b.usable) == 1 {
		return skip("it has one offer only: another that it might use instead isn't known")
	}
	all, last := b.usable, b.usable[len(b.usable)-1]
	b.usable = []*providerpb.Offer{last}
	defer func() { b.usable = all }()
	made, err := b.create(ctx)
	if err != nil {
		return err
	}
	defer b.tidy(ctx, made.item)
	zone, machineType := made.listed.GetZone(), made.listed.GetMachineType()
	if zone != last.GetZone() || machineType != last.GetMachineType() {
		return fmt.Errorf("the request has the one offer %s, and Inspect lists the instance in zone %q with machine type "+
			"%q: use the first offer that works, and no other", nameOf(last), zone, machineType)
	}
	return nil
}
