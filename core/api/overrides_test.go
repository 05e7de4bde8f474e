package api

import (
	"errors"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/ordertest"
)

func TestOverridesAndReservationsComeThroughAsSent(t *testing.T) {
	s := lab()
	zero, five := 0, 5
	eachSurface(t, s, func(t *testing.T, c *Client) {
		for _, o := range []struct{ set, clear any }{
			{orders.ScaleRequest{Fleet: `fleet.each["a/b"]`, Min: &zero, Max: &five, For: 2 * time.Hour, Reason: "release"},
				ordertest.Cleared{Request: orders.ScaleRequest{Fleet: `fleet.each["a/b"]`}}},
			{orders.ScaleRequest{Fleet: "linux", Max: &five, For: time.Second},
				ordertest.Cleared{Request: orders.ScaleRequest{Fleet: "linux"}}},
			{orders.PinRequest{Instance: "if1", For: 4 * time.Hour, Reason: "look"},
				ordertest.Cleared{Request: orders.PinRequest{Instance: "if1"}}},
			{orders.FreezeFleetRequest{Fleet: "linux", ScaleUpOnly: true},
				ordertest.Cleared{Request: orders.FreezeFleetRequest{Fleet: "linux"}}},
			{orders.OverrideCostsRequest{Fleet: "linux", MaxHourly: fleet.Money{Micros: 5_000_001, Currency: "USD"},
				For: time.Hour, Reason: "incident 12"}, ordertest.Cleared{Request: orders.OverrideCostsRequest{Fleet: "linux"}}},
			{orders.OverrideCostsRequest{Fleet: "linux", MaxDaily: fleet.Money{Micros: 1, Currency: "EUR"}, For: time.Hour,
				Reason: "incident 12"}, ordertest.Cleared{Request: orders.OverrideCostsRequest{Fleet: "linux"}}},
			{orders.OverrideCostsRequest{Fleet: "linux", For: time.Hour, Reason: "incident 12"},
				ordertest.Cleared{Request: orders.OverrideCostsRequest{Fleet: "linux"}}},
			{orders.FreezeProviderRequest{Provider: "local.here", ScaleUpOnly: true, Reason: "incident 12"},
				ordertest.Cleared{Request: orders.FreezeProviderRequest{Provider: "local.here"}}},
			{orders.QuarantineFleetRequest{Fleet: "linux", Reason: "odd"},
				ordertest.Cleared{Request: orders.QuarantineFleetRequest{Fleet: "linux"}}},
			{orders.QuarantineInstanceRequest{Instance: "if1", Reason: "odd"},
				ordertest.Cleared{Request: orders.QuarantineInstanceRequest{Instance: "if1"}}},
			{orders.QuarantineImageRequest{Image: "image.ubuntu", Reason: "odd"},
				ordertest.Cleared{Request: orders.QuarantineImageRequest{Image: "image.ubuntu"}}},
		} {
			for _, order := range []any{o.set, o.clear} {
				receipt, err := ordertest.Give(t.Context(), c.Orders(), order)
				if err != nil {
					t.Fatalf("%+v: %v", order, err)
				}
				same(
					t,
					"the receipt",
					any(orders.OverrideReceipt{Subject: "fleet.linux", Done: "frozen", Changed: true, Loop: true}),
					receipt,
				)
				same(t, "the order", []any{order}, s.heard())
			}
		}
		wanted := orders.ReservationRequest{
			Class:     "small",
			Quantity:  3,
			Start:     now,
			End:       now.Add(time.Hour),
			LeadTime:  time.Minute,
			Fleet:     "linux",
			Scope:     fleet.FleetScope{Tenant: "acme"},
			Dedicated: true,
			Reason:    "release",
		}
		made, err := c.CreateReservation(t.Context(), wanted)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "what was asked for", []any{wanted}, s.heard())
		same(t, "what was made", reserved, made)
		if all, err := c.Reservations(t.Context()); err != nil || len(all) != 1 || all[0].Missing != 1 {
			t.Errorf("the list: %v, %v", all, err)
		}
		if err := c.DeleteReservation(t.Context(), "r1"); err != nil {
			t.Error(err)
		}
		same(t, "what was cancelled", []any{fleet.CapacityReservationID("r1")}, s.heard())
	})
}

// A check that was taken for the order itself would do what no one has agreed to yet.
func TestACheckOfAnOrderIsNeverTakenForTheOrder(t *testing.T) {
	s, five := lab(), 5
	eachSurface(t, s, func(t *testing.T, c *Client) {
		for _, o := range []any{
			orders.ScaleRequest{Fleet: "linux", Max: &five, For: time.Hour}, orders.PinRequest{Instance: "if1", For: time.Hour},
			orders.FreezeFleetRequest{Fleet: "linux"}, orders.FreezeProviderRequest{Provider: "local.here"},
			ordertest.Cleared{Request: orders.FreezeFleetRequest{Fleet: "linux"}},
			orders.OverrideCostsRequest{Fleet: "linux", For: time.Hour, Reason: "x"},
			orders.QuarantineImageRequest{Image: "image.ubuntu"},
		} {
			receipt, err := ordertest.Give(t.Context(), c.CheckOrders(), o)
			if err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			same(t, "the receipt", any(orders.OverrideReceipt{Subject: "fleet.linux", Done: "it would be frozen"}), receipt)
			same(t, "what was checked", []any{checked{o}}, s.heard())
		}
		for _, o := range []any{
			orders.DrainRequest{Instance: "if1"}, orders.DrainRequest{Instance: "if1", Force: true},
			ordertest.Replaced{Instance: "if1"},
			orders.ResolveRequest{Instance: "if1", Outcome: orders.Gone},
			orders.AdoptRequest{Provider: "local.here", Resource: "r", Fleet: "fleet.linux"},
			ordertest.RolledBack{RolloutRequest: orders.RolloutRequest{Subject: "linux"}},
			orders.ResumeRequest{Subject: "image.ubuntu"},
			ordertest.Paused{RolloutRequest: orders.RolloutRequest{Subject: "linux"}},
		} {
			if _, err := ordertest.Give(t.Context(), c.CheckOrders(), o); err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			same(t, "what was checked", []any{checked{o}}, s.heard())
		}
	})
}

func TestAMisspelledCheckIsRefusedAndNotCarriedOut(t *testing.T) {
	s := lab()
	for path, body := range map[string]string{
		"/v1/fleets/linux/freeze?chek=true": `{}`, "/v1/fleets/linux/freeze?Check=true": `{}`,
		"/v1/fleets/linux/freeze?check=perhaps": `{}`,
		"/v1/instances/if1/drain?dry_run=true":  `{"force": true}`, "/v1/images/image.ubuntu/rollback?chek=1": `{}`,
	} {
		w := answerTo(allowing(s), ask("POST", path, body))
		wantProblem(t, operation{method: "POST", path: path}, path, w, 422, codeInvalid)
	}
	if heard := s.heard(); len(heard) > 0 {
		t.Errorf("it was carried out: %+v", heard)
	}
}

func TestAnOrderAboutNothingIsNotSent(t *testing.T) {
	c := dial(t, onSocket(t, handler(lab(), nil)))
	for _, o := range []any{orders.FreezeFleetRequest{}, orders.FreezeProviderRequest{}, orders.PinRequest{},
		ordertest.Replaced{},
		ordertest.Paused{}, ordertest.Cleared{Request: orders.QuarantineImageRequest{Image: ""}}} {
		if _, err := ordertest.Give(t.Context(), c.Orders(), o); !errors.As(err, new(*access.NotFoundError)) {
			t.Errorf("%T: %v", o, err)
		}
	}
	if err := c.DeleteReservation(t.Context(), ""); !errors.As(err, new(*access.NotFoundError)) {
		t.Error(err)
	}
}
