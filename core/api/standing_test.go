package api

import (
	"errors"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

func TestStandingOrdersAndReservationsComeThroughAsTheyWereSent(t *testing.T) {
	s := lab()
	zero, five := 0, 5
	orders := []control.StandingOrder{
		{Kind: control.ScaleFleet, Fleet: `fleet.each["a/b"]`, Min: &zero, Max: &five, For: 2 * time.Hour, Reason: "release"},
		{Kind: control.ScaleFleet, Fleet: "linux", Max: &five, For: time.Second},
		{Kind: control.PinInstance, Instance: "if1", For: 4 * time.Hour, Reason: "look"},
		{Kind: control.FreezeWrites, Fleet: "linux", ScaleUpOnly: true},
		{Kind: control.BreakGlass, Fleet: "linux", MaxHourly: fleet.Money{Micros: 5_000_001, Currency: "USD"}, For: time.Hour, Reason: "incident 12"},
		{Kind: control.BreakGlass, Fleet: "linux", MaxDaily: fleet.Money{Micros: 1, Currency: "EUR"}, For: time.Hour, Reason: "incident 12"},
		{Kind: control.BreakGlass, Fleet: "linux", For: time.Hour, Reason: "incident 12"},
		{Kind: control.FreezeWrites, Provider: "local.here", Reason: "incident 12"},
		{Kind: control.QuarantineIt, Fleet: "linux"}, {Kind: control.QuarantineIt, Instance: "if1", Reason: "odd"}, {Kind: control.QuarantineIt, Image: "image.ubuntu"},
	}
	eachSurface(t, s, func(t *testing.T, c *Client) {
		for _, o := range orders {
			receipt, err := c.OrderStanding(t.Context(), o)
			if err != nil || !receipt.Loop || !receipt.Changed {
				t.Fatalf("%+v: %+v, %v", o, receipt, err)
			}
			same(t, "the order", []any{o}, s.heard())
			end := control.StandingOrder{Kind: o.Kind, End: true, Fleet: o.Fleet, Instance: o.Instance, Provider: o.Provider, Image: o.Image}
			if _, err := c.OrderStanding(t.Context(), end); err != nil {
				t.Fatal(err)
			}
			same(t, "its end", []any{end}, s.heard())
		}
		wanted := control.ReservationRequest{Class: "small", Quantity: 3, Start: now, End: now.Add(time.Hour), LeadTime: time.Minute,
			Fleet: "linux", Scope: fleet.FleetScope{Tenant: "acme"}, Dedicated: true, Reason: "release"}
		made, err := c.Reserve(t.Context(), wanted)
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

// A check that was taken for the order itself would do what nobody has agreed to yet.
func TestACheckOfAnOrderIsNeverTakenForTheOrder(t *testing.T) {
	s, five := lab(), 5
	eachSurface(t, s, func(t *testing.T, c *Client) {
		for _, o := range []control.StandingOrder{
			{Kind: control.ScaleFleet, Fleet: "linux", Max: &five, For: time.Hour}, {Kind: control.PinInstance, Instance: "if1", For: time.Hour},
			{Kind: control.FreezeWrites, Fleet: "linux"}, {Kind: control.FreezeWrites, Provider: "local.here"}, {Kind: control.FreezeWrites, Fleet: "linux", End: true},
			{Kind: control.BreakGlass, Fleet: "linux", For: time.Hour, Reason: "x"}, {Kind: control.QuarantineIt, Image: "image.ubuntu"},
		} {
			if receipt, err := c.CheckStanding(t.Context(), o); err != nil || receipt.Changed || receipt.Done != "it would be frozen" {
				t.Fatalf("%+v: %+v, %v", o, receipt, err)
			}
			same(t, "what was checked", []any{checked{o}}, s.heard())
		}
		for _, o := range []control.InstanceOrder{
			{Kind: loop.DrainInstance, Instance: "if1"}, {Kind: loop.ForceDrain, Instance: "if1"}, {Kind: loop.ReplaceInstance, Instance: "if1"},
			{Kind: loop.ResolveGone, Instance: "if1"}, {Kind: loop.AdoptResource, Provider: "local.here", Resource: "r", Fleet: "fleet.linux"},
		} {
			if _, err := c.CheckOrder(t.Context(), o); err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			same(t, "what was checked", []any{checked{o}}, s.heard())
		}
		for _, r := range []control.RolloutRequest{{Subject: "linux", Action: fleet.RollBack}, {Subject: "image.ubuntu", Action: fleet.ResumeRollout}, {Subject: "linux", Action: fleet.PauseRollout}} {
			if _, err := c.CheckRollout(t.Context(), r); err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			same(t, "what was checked", []any{checked{r}}, s.heard())
		}
	})
}

func TestAMisspelledCheckIsRefusedAndNotCarriedOut(t *testing.T) {
	s := lab()
	for path, body := range map[string]string{
		"/v1/fleets/linux/freeze?chek=true": `{}`, "/v1/fleets/linux/freeze?Check=true": `{}`, "/v1/fleets/linux/freeze?check=perhaps": `{}`,
		"/v1/instances/if1/drain?dry_run=true": `{"force": true}`, "/v1/images/image.ubuntu/rollback?chek=1": `{}`,
	} {
		w := answerTo(allowing(s), ask("POST", path, body))
		wantProblem(t, operation{method: "POST", path: path}, path, w, 422, codeInvalid)
	}
	if heard := s.heard(); len(heard) > 0 {
		t.Errorf("it was carried out: %+v", heard)
	}
}

func TestAStandingOrderAboutNothingIsNotSent(t *testing.T) {
	c := dial(t, onSocket(t, handler(lab(), nil)))
	if _, err := c.OrderStanding(t.Context(), control.StandingOrder{Kind: control.FreezeWrites}); !errors.As(err, new(*access.NotFoundError)) {
		t.Error(err)
	}
	if _, err := c.OrderStanding(t.Context(), control.StandingOrder{Kind: "dance", Fleet: "linux"}); !errors.As(err, new(*access.InvalidError)) {
		t.Error(err)
	}
	if err := c.DeleteReservation(t.Context(), ""); !errors.As(err, new(*access.NotFoundError)) {
		t.Error(err)
	}
}
