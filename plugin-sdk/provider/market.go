package provider

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Market is implemented where the infrastructure has more than one way to make
// an instance: zones, machine types, lifetimes. What New returns is asserted to
// it where Plugin.Market says so.
type Market[I any] interface {
	// Offers lists what an instance of the block could be made of now, each zone,
	// machine type and lifetime once, in any order. The host keeps the answer for
	// minutes, filters and orders it, and sends in ProvisionRequest.Offers those
	// that may be used. An error leaves it with what it had.
	Offers(ctx context.Context, instance I) (OfferList, error)
}

// OfferList is what a market has.
type OfferList struct {
	Offers []Offer
	// AsOf is when the infrastructure said so; zero: now.
	AsOf time.Time
}

// Offer is one way to make an instance. Zone, MachineType and Lifetime name it.
type Offer struct {
	Zone        string
	Region      string
	MachineType string
	// Lifetime is "stable" or "preemptible".
	Lifetime string
	// Platform is what such an instance can run. The host uses no offer for a fleet of
	// another; an empty field isn't said.
	Platform Platform
	// Resources are what such an instance has. Zero numbers aren't said.
	Resources Resources
	// Price is what one costs in an hour. Without a currency it isn't said.
	Price Price
	// BillingGrain is what is paid at a time, MinimumCommitment what is paid at least.
	BillingGrain, MinimumCommitment time.Duration
	// Available is the stock or the quota that is left; nil: it isn't known.
	Available *uint32
	// Unavailable is why it can't be had now, one line for a person: "sold out in fsn1".
	// Empty: it can. The host uses no such offer, and explain shows the reason.
	Unavailable string
	// Scope is what the offer shares with others beyond zone and machine type: an Error
	// with this Scope rests all of them.
	Scope string
}

// Resources are what an instance has: thousandths of a cpu, bytes, and anything
// else by its name ("gpu/l4").
type Resources struct {
	CPUMilli    int64
	MemoryBytes int64
	DiskBytes   int64
	Named       map[string]int64
}

// Price is an amount for an hour in millionths of a unit of an ISO 4217 currency.
type Price struct {
	Currency      string
	MicrosPerHour int64
	// Estimate marks what isn't a promise: a spot price, a static table.
	Estimate bool
	// Tax says whether value added tax is in the amounts. The zero value: not said.
	Tax Tax
	// Parts are what MicrosPerHour is made of; they add up to it. None: it isn't said.
	Parts []PricePart
	// MicrosPerMonth is the most that a calendar month costs; 0: there is no cap.
	MicrosPerMonth int64
}

// PricePart is a part of a Price. Name is PartMachine, PartAddress, PartDisk or a word
// of the plugin's own.
type PricePart struct {
	Name          string
	MicrosPerHour int64
}

// The usual parts of a price.
const (
	PartMachine = "machine"
	PartAddress = "address"
	PartDisk    = "disk"
)

// Tax says whether value added tax is in a price.
type Tax int

// The kinds of price. The zero value says nothing.
const (
	Net   = Tax(providerpb.Price_TAX_NET)
	Gross = Tax(providerpb.Price_TAX_GROSS)
)

// checkMarket compares what a plugin declares with what its provider does. The
// host asks for what GetInfo names, which can't look at a provider.
func (p Plugin[C, I]) checkMarket(configured Provider[I]) error {
	switch _, implemented := configured.(Market[I]); {
	case p.Market && !implemented:
		return internalError("the plugin declares Market, and what New returned has no method Offers for its instance block")
	case !p.Market && implemented:
		return internalError("what New returned has the method Offers, and the plugin doesn't declare Market")
	}
	return nil
}

// marketServer speaks the wire for a plugin's market.
type marketServer[C, I any] struct {
	providerpb.UnimplementedMarketServer
	server *server[C, I]
}

// Offers asks the author's market.
func (m marketServer[C, I]) Offers(
	ctx context.Context, request *providerpb.OffersRequest,
) (*providerpb.OffersResponse, error) {
	provider, err := m.server.provider()
	if err != nil {
		return nil, err
	}
	market, ok := provider.(Market[I])
	if !ok {
		return nil, statusError(codes.Unimplemented, internalError("the plugin has no market"))
	}
	instance, complaints := decodeBlock[I](m.server.blocks.instance, request.InstanceJson)
	for _, complaint := range complaints {
		if !complaint.Warning {
			return nil, statusError(codes.InvalidArgument, &Error{Class: Invalid, Err: complaint})
		}
	}
	list, err := market.Offers(ctx, instance)
	if err != nil {
		return nil, statusError(codes.Unavailable, err)
	}
	response := &providerpb.OffersResponse{}
	if !list.AsOf.IsZero() {
		response.AsOf = timestamppb.New(list.AsOf)
	}
	for _, offer := range list.Offers {
		response.Offers = append(response.Offers, offerToWire(offer))
	}
	return response, nil
}

func offerToWire(o Offer) *providerpb.Offer {
	price := &providerpb.Price{
		Currency: o.Price.Currency, MicrosPerHour: o.Price.MicrosPerHour, Estimate: o.Price.Estimate,
		Tax: providerpb.Price_Tax(o.Price.Tax), MicrosPerMonth: o.Price.MicrosPerMonth,
	}
	for _, part := range o.Price.Parts {
		price.Parts = append(price.Parts, &providerpb.PricePart{Name: part.Name, MicrosPerHour: part.MicrosPerHour})
	}
	return &providerpb.Offer{
		Zone: o.Zone, Region: o.Region, MachineType: o.MachineType, Lifetime: o.Lifetime,
		Resources: &providerpb.Resources{
			CpuMilli: o.Resources.CPUMilli, MemoryBytes: o.Resources.MemoryBytes, DiskBytes: o.Resources.DiskBytes,
			Named: o.Resources.Named,
		},
		Platform:     &providerpb.Platform{Os: o.Platform.OS, Arch: o.Platform.Arch},
		Price:        price,
		BillingGrain: durationpb.New(o.BillingGrain), MinimumCommitment: durationpb.New(o.MinimumCommitment),
		Available: o.Available, Unavailable: o.Unavailable, Scope: o.Scope,
	}
}

func offerFromWire(o *providerpb.Offer) Offer {
	price := Price{
		Currency: o.GetPrice().GetCurrency(), MicrosPerHour: o.GetPrice().GetMicrosPerHour(),
		Estimate: o.GetPrice().GetEstimate(), Tax: Tax(o.GetPrice().GetTax()),
		MicrosPerMonth: o.GetPrice().GetMicrosPerMonth(),
	}
	for _, part := range o.GetPrice().GetParts() {
		price.Parts = append(price.Parts, PricePart{Name: part.GetName(), MicrosPerHour: part.GetMicrosPerHour()})
	}
	return Offer{
		Zone: o.GetZone(), Region: o.GetRegion(), MachineType: o.GetMachineType(), Lifetime: o.GetLifetime(),
		Platform: Platform{OS: o.GetPlatform().GetOs(), Arch: o.GetPlatform().GetArch()},
		Resources: Resources{
			CPUMilli: o.GetResources().GetCpuMilli(), MemoryBytes: o.GetResources().GetMemoryBytes(),
			DiskBytes: o.GetResources().GetDiskBytes(), Named: o.GetResources().GetNamed(),
		},
		Price:        price,
		BillingGrain: o.GetBillingGrain().AsDuration(), MinimumCommitment: o.GetMinimumCommitment().AsDuration(),
		Available: o.Available, Unavailable: o.GetUnavailable(), Scope: o.GetScope(),
	}
}
