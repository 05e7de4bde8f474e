package provider

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// trader is a provider with a market.
type trader struct {
	scripted
	offers func(context.Context, testInstance) (OfferList, error)
}

func (t *trader) Offers(ctx context.Context, instance testInstance) (OfferList, error) {
	return t.offers(ctx, instance)
}

// startMarket serves a plugin that declares Market or doesn't, and configures it.
func startMarket(t *testing.T, declared bool, provider Provider[testInstance]) (started, error) {
	p := testPlugin(func(context.Context, testConfig, Environment) (Provider[testInstance], error) {
		return provider, nil
	})
	p.Market = declared
	host := startUnconfigured(t, p)
	_, err := host.Configure(t.Context(), &providerpb.ConfigureRequest{})
	return host, err
}

func TestAMarketIsNamedAndItsOffersArriveWhole(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	want := Offer{
		Zone: "z1", Region: "r", MachineType: "m", Lifetime: "preemptible", Platform: Platform{OS: "linux", Arch: "arm64"},
		Resources: Resources{CPUMilli: 4000, MemoryBytes: 1, DiskBytes: 2, Named: map[string]int64{"gpu/l4": 1}},
		Price:     Price{Currency: "USD", MicrosPerHour: 192000, Estimate: true}, BillingGrain: time.Second,
		MinimumCommitment: time.Minute, Available: proto.Uint32(3),
	}
	host, err := startMarket(t, true, &trader{offers: func(_ context.Context, instance testInstance) (OfferList, error) {
		if instance.CPUs != 8 {
			t.Errorf("asked for %d cpus", instance.CPUs)
		}
		return OfferList{Offers: []Offer{want}, AsOf: at}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := host.GetInfo(t.Context(), &providerpb.GetInfoRequest{})
	if err != nil || len(info.Services) != 1 || info.Services[0] != providerpb.MarketService {
		t.Errorf("services %v, %v", info.GetServices(), err)
	}
	got, err := host.market.Offers(t.Context(), &providerpb.OffersRequest{InstanceJson: []byte(`{"cpus": 8}`)})
	if err != nil || len(got.Offers) != 1 || !got.AsOf.AsTime().Equal(at) {
		t.Fatalf("%v, %v", got, err)
	}
	if !proto.Equal(offerToWire(offerFromWire(got.Offers[0])), offerToWire(want)) {
		t.Errorf("got %v", got.Offers[0])
	}
}

func TestAnErrorOfTheMarketKeepsItsClass(t *testing.T) {
	host, err := startMarket(t, true, &trader{offers: func(context.Context, testInstance) (OfferList, error) {
		return OfferList{}, &Error{Class: RateLimit, Err: errors.New("slow down")}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]providerpb.Error_Class{`{}`: providerpb.Error_CLASS_RATE_LIMIT,
		`{"cpus": "many"}`: providerpb.Error_CLASS_INVALID} {
		_, err := host.market.Offers(t.Context(), &providerpb.OffersRequest{InstanceJson: []byte(body)})
		details := status.Convert(err).Details()
		if len(details) != 1 || details[0].(*providerpb.Error).Class != want {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestAMarketThatIsDeclaredWronglyIsAFaultOfThePlugin(t *testing.T) {
	for name, test := range map[string]struct {
		declared bool
		provider Provider[testInstance]
	}{
		"declared and not there": {true, &scripted{}},
		"there and not declared": {false, &trader{}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := startMarket(t, test.declared, test.provider); status.Code(err) != codes.Internal {
				t.Errorf("Configure ended with %v", err)
			}
		})
	}
}

func TestWithoutAMarketTheServiceIsNotThere(t *testing.T) {
	host := start(t, &scripted{})
	if _, err := host.market.Offers(t.Context(), &providerpb.OffersRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v", err)
	}
}
