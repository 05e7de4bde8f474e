package conformance_test

import (
	"context"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// marketed is an honest provider with a market.
type marketed struct {
	honest
	offers func() []provider.Offer
}

func (m marketed) Offers(context.Context, instance) (provider.OfferList, error) {
	return provider.OfferList{Offers: m.offers()}, nil
}

func sells(p *plugin) { p.Market = true }

func selling(offers func() []provider.Offer) func(honest) provider.Provider[instance] {
	return func(h honest) provider.Provider[instance] { return marketed{h, offers} }
}

func offerIn(zone string) provider.Offer {
	return provider.Offer{
		Zone: zone, MachineType: "m", Lifetime: "stable",
		Price: provider.Price{Currency: "EUR", MicrosPerHour: 30, Parts: []provider.PricePart{
			{Name: provider.PartMachine, MicrosPerHour: 20}, {Name: provider.PartAddress, MicrosPerHour: 10},
		}},
	}
}

func twoOffers() []provider.Offer { return []provider.Offer{offerIn("a"), offerIn("b")} }

// stubborn makes everything in one zone.
type stubborn struct{ marketed }

func (s stubborn) Provision(ctx context.Context, r request) (provider.Resource, error) {
	r.Offers = twoOffers()[:1]
	return s.marketed.Provision(ctx, r)
}
