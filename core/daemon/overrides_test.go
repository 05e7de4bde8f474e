package daemon

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/ordertest"
)

const badImage = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

// withTwoFleets is a manager at a time of the test's own: fleet.demo of 2 to 4
// with a healthy instance, and fleet.other of the tenant acme.
func withTwoFleets(t *testing.T, now *time.Time) *Daemon {
	t.Helper()
	m := withFleets(t, now)
	class := fleet.CapacityClass{Name: "small", Platform: fleet.Platform{OS: "linux", Arch: "x86_64"}}
	demo := fleet.ManagedFleet{
		ID:          "f1",
		Operational: fleet.FleetActive,
		RunnerFleet: fleet.RunnerFleet{
			Address:  "fleet.demo",
			Provider: "local.here",
			Class:    class,
			Image:    fleet.Image{Name: "ubuntu", Digest: badImage},
			Scaling:  fleet.ScalingPolicy{Min: 2, Max: 4},
			Cost: fleet.CostPolicy{
				Hourly:    fleet.Money{Micros: 192_000, Currency: "USD"},
				MaxHourly: fleet.Money{Micros: 300_000, Currency: "USD"},
			},
		},
	}
	other := demo
	other.ID, other.Address, other.Scope.Tenant = "f2", "fleet.other", "acme"
	fleets := []fleet.ManagedFleet{demo, other}
	d := fleet.Definition{Installation: "demo", Providers: []fleet.Provider{{Address: "local.here"}}}
	if _, err := m.store.ApplyDefinition(
		t.Context(),
		store.Apply{Expect: 1, Definition: d, At: *now, Fleets: fleets},
	); err != nil {
		t.Fatal(err)
	}
	storeInstance(t, m)
	return m
}

func number(n int) *int { return &n }

func TestAnOverrideNeedsThePermissionOfItsFleet(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	only := func(p ...access.Permission) access.Caller { return access.Caller{Name: "bob", Permissions: p} }
	limited := access.Caller{
		Name:        "bob",
		Permissions: access.AllPermissions(),
		Fleets:      []fleet.FleetAddress{"fleet.other"},
	}
	scale := orders.ScaleRequest{Fleet: "demo", Min: number(3), For: time.Hour}
	freeze := orders.FreezeFleetRequest{Fleet: "demo"}
	for _, test := range []struct {
		name   string
		caller access.Caller
		order  any
		want   any
	}{
		{"who may freeze doesn't scale", only(access.ReadFleets, access.FreezeFleets), scale, new(*access.DeniedError)},
		{"who may scale doesn't freeze", only(access.ReadFleets, access.ScaleFleets), freeze, new(*access.DeniedError)},
		{"who may drain doesn't quarantine", only(access.DrainFleets), orders.QuarantineFleetRequest{Fleet: "demo"},
			new(*access.DeniedError)},
		{"who may scale may not override costs", only(access.ReadFleets, access.ScaleFleets, access.FreezeFleets),
			orders.OverrideCostsRequest{Fleet: "demo", For: time.Hour, Reason: "x"}, new(*access.DeniedError)},
		{"cost override for too long", access.LocalUser("ada"),
			orders.OverrideCostsRequest{Fleet: "demo", For: 73 * time.Hour, Reason: "x"}, new(*access.InvalidError)},
		{"cost override without an end", access.LocalUser("ada"), orders.OverrideCostsRequest{Fleet: "demo", Reason: "x"},
			new(*access.InvalidError)},
		{"cost override without a reason", access.LocalUser("ada"),
			orders.OverrideCostsRequest{Fleet: "demo", For: time.Hour, Reason: " "}, new(*access.InvalidError)},
		{"another fleet's token sees no fleet", limited,
			orders.OverrideCostsRequest{Fleet: "demo", For: time.Hour, Reason: "x"}, new(*access.NotFoundError)},
		{"a reader doesn't pin", only(access.ReadFleets), orders.PinRequest{Instance: "i1", For: time.Hour},
			new(*access.DeniedError)},
		{"another fleet's token doesn't know the fleet", limited, freeze, new(*access.NotFoundError)},
		{"another fleet's token doesn't know the instance", limited, orders.PinRequest{Instance: "i1", For: time.Hour},
			new(*access.NotFoundError)},
		{"a limited token freezes no provider", limited, orders.FreezeProviderRequest{Provider: "local.here"},
			new(*access.DeniedError)},
		{"a limited token ends no provider's freeze", limited,
			ordertest.Cleared{Request: orders.FreezeProviderRequest{Provider: "local.here"}},
			new(*access.DeniedError)},
		{"a limited token releases no image", limited,
			ordertest.Cleared{Request: orders.QuarantineImageRequest{Image: badImage}},
			new(*access.DeniedError)},
		{"a reader ends no freeze", only(access.ReadFleets), ordertest.Cleared{Request: freeze}, new(*access.DeniedError)},
		{"a limited token quarantines no image", limited, orders.QuarantineImageRequest{Image: badImage},
			new(*access.DeniedError)},
		{"no such fleet", access.LocalUser("ada"), orders.FreezeFleetRequest{Fleet: "none"}, new(*access.NotFoundError)},
		{"nothing named", access.LocalUser("ada"), orders.QuarantineFleetRequest{}, new(*access.NotFoundError)},
		{"no such provider", access.LocalUser("ada"), orders.FreezeProviderRequest{Provider: "local.none"},
			new(*access.InvalidError)},
		{"no such image", access.LocalUser("ada"), orders.QuarantineImageRequest{Image: "image.none"},
			new(*access.InvalidError)},
		{"no image at all", access.LocalUser("ada"), orders.QuarantineImageRequest{Image: "sha256:short"},
			new(*access.InvalidError)},
		{"a long reason", access.LocalUser("ada"),
			orders.FreezeFleetRequest{Fleet: "demo", Reason: strings.Repeat("x", 501)}, new(*access.InvalidError)},
		{"a pin without an end", access.LocalUser("ada"), orders.PinRequest{Instance: "i1"}, new(*access.InvalidError)},
		{"a pin for ever", access.LocalUser("ada"), orders.PinRequest{Instance: "i1", For: 31 * 24 * time.Hour},
			new(*access.InvalidError)},
	} {
		_, err := give(as(t, test.caller), m.Orders(), test.order)
		if !errors.As(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if _, before := give(
			as(t, test.caller),
			m.CheckOrders(),
			test.order,
		); before == nil || err == nil ||
			before.Error() != err.Error() {
			t.Errorf("%s: the check says %v, and the order %v", test.name, before, err)
		}
	}
	if kept, err := m.store.Overrides(
		t.Context(),
	); err != nil ||
		len(kept.Freezes)+len(kept.ScaleOverrides)+len(kept.Pins)+len(kept.Quarantines)+len(kept.CostOverrides) > 0 {
		t.Errorf("what was refused is kept: %+v, %v", kept, err)
	}
}

func TestACheckSaysWhatAnOrderWouldDoAndKeepsNothing(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	ctx := as(t, access.LocalUser("ada"))
	order := orders.ScaleRequest{Fleet: "demo", Min: number(3), For: time.Hour}
	receipt, err := give(ctx, m.CheckOrders(), order)
	if err != nil || receipt.Changed ||
		!strings.HasPrefix(receipt.Done, "min = 3 until 2026-05-04 11:00 UTC") {
		t.Errorf("the check says %+v, %v", receipt, err)
	}
	if receipt, err := m.CheckOrders().
		DrainInstance(ctx, orders.DrainRequest{Instance: "i1"}); err != nil ||
		receipt.Instance != "i1" {
		t.Errorf("the check of a drain says %+v, %v", receipt, err)
	}
	if kept, err := m.store.Overrides(t.Context()); err != nil || len(kept.ScaleOverrides) > 0 {
		t.Errorf("what was only checked is kept: %+v, %v", kept, err)
	}
	if trail, err := m.Audit(
		ctx,
		10,
	); err != nil ||
		slices.ContainsFunc(trail, func(r access.AuditRecord) bool { return r.Action != "apply" }) {
		t.Errorf("what was only checked is audited as done: %+v, %v", trail, err)
	}
}

func TestCheckOfAClearOrARolloutKeepsNothing(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	ctx := as(t, access.LocalUser("ada"))
	if _, err := m.Orders().FreezeFleet(ctx, orders.FreezeFleetRequest{Fleet: "demo"}); err != nil {
		t.Fatal(err)
	}
	before, err := m.Audit(ctx, 10)
	if err != nil {
		t.Fatal(err)
	}
	if receipt, err := m.CheckOrders().
		ClearFleetFreeze(ctx, "demo"); err != nil || receipt.Changed ||
		!strings.HasPrefix(receipt.Done, "the freeze is cleared") {
		t.Errorf("the check of the end of a freeze says %+v, %v", receipt, err)
	}
	if receipt, err := m.CheckOrders().
		PauseRollout(ctx, orders.RolloutRequest{Subject: "demo"}); err != nil || len(receipt.Fleets) != 1 ||
		!receipt.Fleets[0].Changed {
		t.Errorf("the check of a pause says %+v, %v", receipt, err)
	}
	if kept, err := m.store.Overrides(t.Context()); err != nil || len(kept.Freezes) != 1 || len(kept.Rollouts) > 0 {
		t.Errorf("after checks alone there are %+v, %v", kept, err)
	}
	if after, err := m.Audit(ctx, 10); err != nil || len(after) != len(before) {
		t.Errorf("what was only checked is audited as done: %+v, %v", after, err)
	}
}

func TestPinEndsByTheEndOfItsInstancesID(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	ctx := as(t, access.LocalUser("ada"))
	for _, o := range []any{orders.PinRequest{Instance: "…1", For: time.Hour},
		ordertest.Cleared{Request: orders.PinRequest{Instance: "…1"}}} {
		if receipt, err := give(
			ctx,
			m.Orders(),
			o,
		); err != nil || !receipt.Changed ||
			receipt.Subject != "instance i1 of fleet.demo" {
			t.Errorf("%+v: %+v, %v", o, receipt, err)
		}
	}
}

func TestAnOverrideIsAuditedShownAndCleared(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	ada := access.LocalUser("ada")
	set := func(o any) orders.OverrideReceipt {
		t.Helper()
		receipt, err := give(as(t, ada), m.Orders(), o)
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	all := []any{
		orders.ScaleRequest{Fleet: "demo", Max: number(9), For: 2 * time.Hour, Reason: "release"},
		orders.PinRequest{Instance: "i1", For: time.Hour},
		orders.FreezeFleetRequest{Fleet: "fleet.demo", ScaleUpOnly: true},
		orders.FreezeProviderRequest{Provider: "local.here"},
		orders.QuarantineFleetRequest{Fleet: "demo"},
		orders.QuarantineInstanceRequest{Instance: "i1"},
		orders.QuarantineImageRequest{Image: "image.ubuntu"},
		orders.OverrideCostsRequest{
			Fleet:     "demo",
			MaxHourly: fleet.Money{Micros: 900_000, Currency: "USD"},
			For:       time.Hour,
			Reason:    "incident 12",
		},
	}
	for _, o := range all {
		if receipt := set(o); !receipt.Changed || receipt.Loop || receipt.Done == "" || receipt.Subject == "" {
			t.Errorf("%+v: %+v", o, receipt)
		}
	}
	fleets, err := m.Fleets(as(t, ada))
	if err != nil {
		t.Fatal(err)
	}
	demo := fleets[0]
	if demo.Operational != fleet.FleetFrozen || demo.Max != 9 || demo.Min != 2 || demo.Override == nil ||
		len(demo.Overrides) != 5 ||
		demo.Cost == nil ||
		demo.Cost.MaxHourly.Micros != 900_000 {
		t.Errorf("%s, min %d, max %d, %+v, says %q", demo.Operational, demo.Min, demo.Max, demo.Override, demo.Overrides)
	}
	if i, err := m.Instance(as(t, ada), "i1"); err != nil || i.Pin == nil || i.Pin.By != "ada" {
		t.Errorf("pin %+v, %v", i.Pin, err)
	}
	for _, o := range all {
		o = ordertest.Cleared{Request: o}
		if receipt := set(o); !receipt.Changed {
			t.Errorf("%+v: %+v", o, receipt)
		}
		if again := set(o); again.Changed || again.Done != "there was nothing to clear" {
			t.Errorf("again: %+v", again)
		}
	}
	if kept, _ := m.store.Overrides(
		t.Context(),
	); len(
		kept.Freezes,
	)+len(
		kept.ScaleOverrides,
	)+len(
		kept.Pins,
	)+len(
		kept.Quarantines,
	)+len(
		kept.CostOverrides,
	) > 0 {
		t.Errorf("it stands: %+v", kept)
	}
	records, err := m.Audit(as(t, ada), 0)
	if err != nil || len(records) != 2*len(all) {
		t.Errorf("%d audit records: %v", len(records), err)
	}
	if n := slices.IndexFunc(records, func(r access.AuditRecord) bool {
		return strings.Contains(r.Detail, "release") && !strings.Contains(r.Detail, ": cleared")
	}); n < 0 ||
		records[n].Action != "fleet scale" || records[n].By != "ada" ||
		!strings.Contains(records[n].Detail, "fleet.demo: max = 9 until 2026-05-04 12:00 UTC") {
		t.Errorf("no record of the scale among %v", records)
	}
}

func TestAnInstanceThatLeavesIsNeitherPinnedNorQuarantined(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	i, _, err := m.store.Instance(t.Context(), "i1")
	if err != nil {
		t.Fatal(err)
	}
	i.State = fleet.Terminating
	if err := m.store.Commit(t.Context(), store.Change{Instances: []fleet.CapacityInstance{i}}); err != nil {
		t.Fatal(err)
	}
	for _, o := range []any{orders.PinRequest{Instance: "i1", For: time.Hour},
		orders.QuarantineInstanceRequest{Instance: "i1"}} {
		if _, err := give(as(t, access.LocalUser("ada")), m.Orders(), o); !errors.As(err, new(*access.ConflictError)) {
			t.Errorf("%T: %v", o, err)
		}
	}
}

func TestReservationsAreMadeListedAndCancelled(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	ada := access.LocalUser("ada")
	good := orders.ReservationRequest{
		Class:    "small",
		Quantity: 3,
		Start:    now.Add(time.Hour),
		End:      now.Add(2 * time.Hour),
		LeadTime: 10 * time.Minute,
	}
	with := func(change func(*orders.ReservationRequest)) orders.ReservationRequest {
		r := good
		change(&r)
		return r
	}
	for name, r := range map[string]orders.ReservationRequest{
		"no such class":         with(func(r *orders.ReservationRequest) { r.Class = "large" }),
		"none of them":          with(func(r *orders.ReservationRequest) { r.Quantity = 0 }),
		"ends before it starts": with(func(r *orders.ReservationRequest) { r.End = r.Start }),
		"over already":          with(func(r *orders.ReservationRequest) { r.Start, r.End = now.Add(-time.Hour), now }),
		"dedicated to no one":   with(func(r *orders.ReservationRequest) { r.Dedicated = true }),
		"for two": with(func(r *orders.ReservationRequest) {
			r.Scope = fleet.FleetScope{Tenant: "a", Project: "b"}
		}),
		"no time":              with(func(r *orders.ReservationRequest) { r.Start = time.Time{} }),
		"two lines of reason":  with(func(r *orders.ReservationRequest) { r.Reason = "a\nb" }),
		"a tenant that steers": with(func(r *orders.ReservationRequest) { r.Scope.Tenant = "\x1b[2J" }),
	} {
		if _, err := m.CreateReservation(as(t, ada), r); !errors.As(err, new(*access.InvalidError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.CreateReservation(
		as(t, ada),
		with(func(r *orders.ReservationRequest) { r.Fleet = "none" }),
	); !errors.As(
		err,
		new(*access.NotFoundError),
	) {
		t.Errorf("no such fleet: %v", err)
	}
	made, err := m.CreateReservation(as(t, ada), good)
	if err != nil || made.ID == "" || made.Missing != 0 || made.State != "planned" {
		t.Fatalf("%+v, %v", made, err)
	}
	now = now.Add(time.Second) // of two that can't both be had, the first is served first
	// Told at once, kept, and told again in every plan.
	large, err := m.CreateReservation(as(t, ada), with(func(r *orders.ReservationRequest) { r.Quantity = 4 }))
	if err != nil || large.Missing != 3 || large.Reason.IsZero() {
		t.Errorf("%+v, %v", large, err)
	}
	limited := access.Caller{
		Name:        "bob",
		Permissions: access.AllPermissions(),
		Fleets:      []fleet.FleetAddress{"fleet.other"},
	}
	if _, err := m.CreateReservation(as(t, limited), good); !errors.As(err, new(*access.DeniedError)) {
		t.Errorf("a limited token reserves of any fleet: %v", err)
	}
	theirs, err := m.CreateReservation(
		as(t, limited),
		with(func(r *orders.ReservationRequest) { r.Fleet, r.Scope.Tenant, r.Dedicated = "other", "acme", true }),
	)
	if err != nil || theirs.Missing != 0 {
		t.Errorf("%+v, %v", theirs, err)
	}
	if seen, err := m.Reservations(as(t, limited)); err != nil || len(seen) != 1 || seen[0].ID != theirs.ID {
		t.Errorf("a limited token sees %v, %v", seen, err)
	}
	if err := m.DeleteReservation(as(t, limited), made.ID); !errors.As(err, new(*access.NotFoundError)) {
		t.Errorf("a limited token cancels another's: %v", err)
	}
	for _, id := range []fleet.CapacityReservationID{made.ID, large.ID} {
		if err := m.DeleteReservation(as(t, ada), id); err != nil {
			t.Error(err)
		}
	}
	if seen, err := m.Reservations(as(t, ada)); err != nil || len(seen) != 1 {
		t.Errorf("left: %v, %v", seen, err)
	}
	if err := m.DeleteReservation(as(t, ada), "reservation.x"); !errors.As(err, new(*access.ConflictError)) {
		t.Errorf("one of the file: %v", err)
	}
}

func TestReservationsNeedTheirOwnPermission(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	reader := access.Caller{Name: "bob", Permissions: []access.Permission{access.ReadFleets, access.ScaleFleets}}
	wanted := orders.ReservationRequest{Class: "small", Quantity: 1, Start: now, End: now.Add(time.Hour)}
	if _, err := m.CreateReservation(as(t, reader), wanted); !errors.As(err, new(*access.DeniedError)) {
		t.Errorf("a reader creates one: %v", err)
	}
	made, err := m.CreateReservation(as(t, access.LocalUser("ada")), wanted)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.DeleteReservation(as(t, reader), made.ID); !errors.As(err, new(*access.DeniedError)) {
		t.Errorf("a reader deletes one: %v", err)
	}
	if kept, err := m.Reservations(as(t, reader)); err != nil || len(kept) != 1 || kept[0].ID != made.ID {
		t.Errorf("there are %+v, %v", kept, err)
	}
}

func TestReasonWithControlCharactersIsRefused(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	for _, reason := range []string{"\x1b[2J", "all is well\nfleet.demo is healthy", strings.Repeat("x", 501)} {
		order := orders.FreezeFleetRequest{Fleet: "demo", Reason: reason}
		if _, err := give(as(t, access.LocalUser("ada")), m.Orders(), order); !errors.As(err, new(*access.InvalidError)) {
			t.Errorf("%.20q: %v", reason, err)
		}
	}
}
