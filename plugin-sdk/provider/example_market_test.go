package provider_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

type farmInstance struct {
	Type string `fleet:"type,required,immutable" doc:"Machine type."`
}

// farm is an infrastructure with a few zones, each with so many machines left.
type farm struct {
	left map[string]uint32
}

func (f farm) Offers(_ context.Context, instance farmInstance) (provider.OfferList, error) {
	var list provider.OfferList
	for zone, left := range f.left {
		list.Offers = append(list.Offers, provider.Offer{
			Zone: zone, Region: "eu", MachineType: instance.Type, Lifetime: "stable",
			Resources: provider.Resources{CPUMilli: 4000, MemoryBytes: 16 << 30},
			Price:     provider.Price{Currency: "EUR", MicrosPerHour: 90_000}, Available: &left,
		})
	}
	return list, nil
}

// order takes a machine of the first offer. On a shortage it says where, and leaves
// the next offer to the host.
func (f farm) order(request provider.ProvisionRequest[farmInstance]) (provider.Resource, error) {
	offer := request.Offers[0]
	if f.left[offer.Zone] == 0 {
		none := &provider.Error{Class: provider.Capacity, Zone: offer.Zone, MachineType: offer.MachineType,
			Err: errors.New("no machine is left")}
		return provider.Resource{}, provider.NotCreated(provider.Capacity, none)
	}
	f.left[offer.Zone]--
	return provider.Resource{ID: "machine-" + request.Key, Key: request.Key, Zone: offer.Zone,
		MachineType: offer.MachineType}, nil
}

func ExampleMarket() {
	f := farm{left: map[string]uint32{"a": 1}}
	list, _ := f.Offers(context.Background(), farmInstance{Type: "big"})
	for _, key := range []string{"k1", "k2"} {
		made, err := f.order(provider.ProvisionRequest[farmInstance]{Key: key, Offers: list.Offers})
		fmt.Println(made.Zone, err, provider.IsNotCreated(err))
	}
	// Output:
	// a <nil> false
	//  no machine is left true
}
