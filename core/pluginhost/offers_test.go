//go:build unix

package pluginhost

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// testMarket answers as the instance block says.
type testMarket struct {
	providerpb.UnimplementedMarketServer
}

func (testMarket) Offers(ctx context.Context, r *providerpb.OffersRequest) (*providerpb.OffersResponse, error) {
	switch string(r.GetInstanceJson()) {
	case `"fail"`:
		return nil, withDetail(
			codes.Unavailable,
			&providerpb.Error{
				Class:      providerpb.Error_CLASS_RATE_LIMIT,
				Message:    "slow down",
				RetryAfter: durationpb.New(9 * time.Second),
			},
		)
	case `"hang"`:
		<-ctx.Done()
		return nil, ctx.Err()
	case `"endless"`:
		return &providerpb.OffersResponse{Offers: make([]*providerpb.Offer, 100_000)}, nil
	}
	return marketAnswer(), nil
}

func marketAnswer() *providerpb.OffersResponse {
	return &providerpb.OffersResponse{
		AsOf: timestamppb.New(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)),
		Offers: []*providerpb.Offer{
			{
				Zone:        "z1",
				Region:      "r",
				MachineType: "m",
				Lifetime:    "preemptible",
				Available:   proto.Uint32(3),
				Platform:    &providerpb.Platform{Arch: "arm64"},
				Resources: &providerpb.Resources{
					CpuMilli:    4000,
					MemoryBytes: 1 << 34,
					Named:       map[string]int64{"gpu/l4": 1, "gpu": 1},
				},
				Price:             &providerpb.Price{Currency: "USD", MicrosPerHour: 192000, Estimate: true},
				BillingGrain:      durationpb.New(time.Second),
				MinimumCommitment: durationpb.New(time.Minute),
			},
			{Zone: "z2", Lifetime: "stable", Price: &providerpb.Price{Currency: "USD", MicrosPerHour: -5}},
		},
	}
}

func TestAMarketIsAskedAndItsAnswerChecked(t *testing.T) {
	p := started(t, launch(t, ""))
	list, err := p.Offers(t.Context(), json.RawMessage(`{}`))
	if err != nil || len(list.Offers) != 1 || len(list.Ignored) != 1 || list.AsOf.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	if o := list.Offers[0]; o.Name() != "z1 m preemptible" || o.Resources.GPU != 2 || *o.Available != 3 || !o.Estimate ||
		o.Price.Micros != 192000 ||
		o.Platform != (fleet.Platform{Arch: "arm64"}) ||
		o.BillingGrain != time.Second ||
		o.MinimumCommitment != time.Minute {
		t.Errorf("%+v", o)
	}
	_, err = p.Offers(t.Context(), json.RawMessage(`"fail"`))
	wantError(t, err, "list its offers", "slow down", "again after 9s")
	_, err = p.Offers(t.Context(), json.RawMessage(`"endless"`))
	wantError(t, err, "100000 offers", "1000 is the most")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Offers(ctx, json.RawMessage(`"hang"`))
	wantError(t, err, "nothing was sent")
}

// FuzzOffersOf: whatever a plugin says, what is kept is possible, and goes out again
// as it was.
func FuzzOffersOf(f *testing.F) {
	for _, seed := range []*providerpb.OffersResponse{{}, marketAnswer(),
		{Offers: []*providerpb.Offer{{}, {Lifetime: "stable"},
			{Lifetime: "stable",
				Resources: &providerpb.Resources{Named: map[string]int64{"gpu/a": 1 << 62, "gpu/b": 1 << 62}}}}}} {
		encoded, err := proto.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var response providerpb.OffersResponse
		if proto.Unmarshal(encoded, &response) != nil {
			return
		}
		list, err := offersOf(&response)
		if err != nil {
			return
		}
		if len(list.Offers) > fleet.MaxOffers || len(list.Ignored) > 6 {
			t.Fatalf("%d offers, %d ignored", len(list.Offers), len(list.Ignored))
		}
		for _, o := range list.Offers {
			if o.Price.Micros < 0 || o.Resources.GPU < 0 ||
				o.Lifetime != fleet.LifetimeStable && o.Lifetime != fleet.LifetimePreemptible {
				t.Fatalf("%+v", o)
			}
			again := offerOf(offerMessage(o))
			if fleet.Digest(again) != fleet.Digest(o) {
				t.Fatalf("%+v goes out as %+v", o, again)
			}
		}
		kept, ignored, err := fleet.CheckOffers(slices.Clone(list.Offers))
		if err != nil || len(ignored) > 0 || len(kept) != len(list.Offers) {
			t.Fatalf("what was kept is refused: %q, %v", ignored, err)
		}
	})
}
