package control

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

const badImage = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

// withTwoFleets is a manager at a time of the test's own: fleet.demo of 2 to 4
// with a healthy instance, and fleet.other of the tenant acme.
func withTwoFleets(t *testing.T, now *time.Time) *Manager {
	t.Helper()
	m := withFleets(t, now)
	class := fleet.CapacityClass{Name: "small", Platform: fleet.Platform{OS: "linux", Arch: "x86_64"}}
	demo := fleet.ManagedFleet{ID: "f1", Operational: fleet.FleetActive, RunnerFleet: fleet.RunnerFleet{Address: "fleet.demo", Provider: "local.here", Class: class,
		Image: fleet.Image{Name: "ubuntu", Digest: badImage}, Scaling: fleet.ScalingPolicy{Min: 2, Max: 4},
		Cost: fleet.CostPolicy{Hourly: fleet.Money{Micros: 192_000, Currency: "USD"}, MaxHourly: fleet.Money{Micros: 300_000, Currency: "USD"}}}}
	other := demo
	other.ID, other.Address, other.Scope.Tenant = "f2", "fleet.other", "acme"
	fleets := []fleet.ManagedFleet{demo, other}
	d := fleet.Definition{Installation: "demo", Providers: []fleet.Provider{{Address: "local.here"}}}
	if _, err := m.store.ApplyDefinition(t.Context(), store.Apply{Expect: 1, Definition: d, At: *now, Fleets: fleets}); err != nil {
		t.Fatal(err)
	}
	op := fleet.Operation{ID: "k1", Kind: fleet.ProvisionOperation, Instance: "i1", Fleet: "f1", Request: []byte(`{}`)}
	i := fleet.CapacityInstance{ID: "i1", Fleet: "f1", Provider: "local.here", Key: "k1", State: fleet.Healthy}
	if err := m.store.Commit(t.Context(), store.Change{Instances: []fleet.CapacityInstance{i}, Operations: []fleet.Operation{op}}); err != nil {
		t.Fatal(err)
	}
	return m
}

func number(n int) *int { return &n }

func TestAStandingOrderIsForWhomMayGiveItAndForTheirFleets(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	only := func(p ...access.Permission) access.Caller { return access.Caller{Name: "bob", Permissions: p} }
	limited := access.Caller{Name: "bob", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.other"}}
	scale := StandingOrder{Kind: ScaleFleet, Fleet: "demo", Min: number(3), For: time.Hour}
	freeze := StandingOrder{Kind: FreezeWrites, Fleet: "demo"}
	for _, test := range []struct {
		name   string
		caller access.Caller
		order  StandingOrder
		want   any
	}{
		{"who may freeze doesn't scale", only(access.ReadFleets, access.FreezeFleets), scale, new(*access.DeniedError)},
		{"who may scale doesn't freeze", only(access.ReadFleets, access.ScaleFleets), freeze, new(*access.DeniedError)},
		{"who may drain doesn't quarantine", only(access.DrainFleets), StandingOrder{Kind: QuarantineIt, Fleet: "demo"}, new(*access.DeniedError)},
		{"who may scale doesn't break glass", only(access.ReadFleets, access.ScaleFleets, access.FreezeFleets), StandingOrder{Kind: BreakGlass, Fleet: "demo", For: time.Hour, Reason: "x"}, new(*access.DeniedError)},
		{"glass for ever", access.LocalUser("ada"), StandingOrder{Kind: BreakGlass, Fleet: "demo", For: 73 * time.Hour, Reason: "x"}, new(*access.InvalidError)},
		{"glass without an end", access.LocalUser("ada"), StandingOrder{Kind: BreakGlass, Fleet: "demo", Reason: "x"}, new(*access.InvalidError)},
		{"glass without a reason", access.LocalUser("ada"), StandingOrder{Kind: BreakGlass, Fleet: "demo", For: time.Hour, Reason: " "}, new(*access.InvalidError)},
		{"another fleet's token doesn't know whose glass it is", limited, StandingOrder{Kind: BreakGlass, Fleet: "demo", For: time.Hour, Reason: "x"}, new(*access.NotFoundError)},
		{"a reader doesn't pin", only(access.ReadFleets), StandingOrder{Kind: PinInstance, Instance: "i1", For: time.Hour}, new(*access.DeniedError)},
		{"another fleet's token doesn't know the fleet", limited, freeze, new(*access.NotFoundError)},
		{"another fleet's token doesn't know the instance", limited, StandingOrder{Kind: PinInstance, Instance: "i1", For: time.Hour}, new(*access.NotFoundError)},
		{"a limited token freezes no provider", limited, StandingOrder{Kind: FreezeWrites, Provider: "local.here"}, new(*access.DeniedError)},
		{"a limited token quarantines no image", limited, StandingOrder{Kind: QuarantineIt, Image: badImage}, new(*access.DeniedError)},
		{"no such order", access.LocalUser("ada"), StandingOrder{Kind: "dance"}, new(*access.InvalidError)},
		{"no such fleet", access.LocalUser("ada"), StandingOrder{Kind: FreezeWrites, Fleet: "none"}, new(*access.NotFoundError)},
		{"nothing named", access.LocalUser("ada"), StandingOrder{Kind: QuarantineIt}, new(*access.NotFoundError)},
		{"no such provider", access.LocalUser("ada"), StandingOrder{Kind: FreezeWrites, Provider: "local.none"}, new(*access.InvalidError)},
		{"no such image", access.LocalUser("ada"), StandingOrder{Kind: QuarantineIt, Image: "image.none"}, new(*access.InvalidError)},
		{"no image at all", access.LocalUser("ada"), StandingOrder{Kind: QuarantineIt, Image: "sha256:short"}, new(*access.InvalidError)},
		{"two subjects", access.LocalUser("ada"), StandingOrder{Kind: FreezeWrites, Provider: "local.here", Fleet: "demo"}, new(*access.InvalidError)},
		{"a long reason", access.LocalUser("ada"), StandingOrder{Kind: FreezeWrites, Fleet: "demo", Reason: strings.Repeat("x", 501)}, new(*access.InvalidError)},
		{"a pin without an end", access.LocalUser("ada"), StandingOrder{Kind: PinInstance, Instance: "i1"}, new(*access.InvalidError)},
		{"a pin for ever", access.LocalUser("ada"), StandingOrder{Kind: PinInstance, Instance: "i1", For: 31 * 24 * time.Hour}, new(*access.InvalidError)},
	} {
		_, err := m.OrderStanding(as(t, test.caller), test.order)
		if !errors.As(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if _, before := m.CheckStanding(as(t, test.caller), test.order); before == nil || err == nil || before.Error() != err.Error() {
			t.Errorf("%s: the check says %v, and the order %v", test.name, before, err)
		}
	}
	if orders, err := m.store.Overrides(t.Context()); err != nil || len(orders.Freezes)+len(orders.ScaleOverrides)+len(orders.Pins)+len(orders.Quarantines)+len(orders.CostOverrides) > 0 {
		t.Errorf("what was refused is kept: %+v, %v", orders, err)
	}
}

func TestACheckSaysWhatAnOrderWouldDoAndKeepsNothing(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	ctx := as(t, access.LocalUser("ada"))
	order := StandingOrder{Kind: ScaleFleet, Fleet: "demo", Min: number(3), For: time.Hour}
	receipt, err := m.CheckStanding(ctx, order)
	if err != nil || receipt.Changed || !strings.HasPrefix(receipt.Done, "min = 3 and max = 4 until 2026-05-04 11:00 UTC") {
		t.Errorf("the check says %+v, %v", receipt, err)
	}
	if receipt, err := m.CheckOrder(ctx, InstanceOrder{Kind: loop.DrainInstance, Instance: "i1"}); err != nil || receipt.Instance != "i1" {
		t.Errorf("the check of a drain says %+v, %v", receipt, err)
	}
	if orders, err := m.store.Overrides(t.Context()); err != nil || len(orders.ScaleOverrides) > 0 {
		t.Errorf("what was only checked is kept: %+v, %v", orders, err)
	}
	if trail, err := m.Audit(ctx, 10); err != nil || slices.ContainsFunc(trail, func(r access.AuditRecord) bool { return r.Action != "apply" }) {
		t.Errorf("what was only checked is audited as done: %+v, %v", trail, err)
	}
}

func TestAnOverrideIsHeldAgainstTheFileAndItself(t *testing.T) {
	file := fleet.ManagedFleet{Operational: fleet.FleetActive, RunnerFleet: fleet.RunnerFleet{Address: "fleet.demo", Scaling: fleet.ScalingPolicy{Min: 2, Max: 4}}}
	protected, joined, removed, zero := file, file, file, file
	protected.Protected, joined.Joined, removed.Operational = true, true, fleet.FleetDraining
	zero.Scaling.ScaleToZero = true
	for _, test := range []struct {
		name        string
		fleet       fleet.ManagedFleet
		least, most *int
		want        string
	}{
		{"both", file, number(3), number(3), ""},
		{"beyond the file's max", file, number(9), number(9), ""},
		{"a min beyond the file's max alone", file, number(9), nil, "give a max, too"},
		{"a max under the file's min alone", file, nil, number(1), "give a min, too"},
		{"contrary to itself", file, number(4), number(3), "min = 4 is more than max = 3"},
		{"nothing", file, nil, nil, "give a min, a max or both"},
		{"negative", file, number(-1), nil, "from 0 to 100000"},
		{"a slip of the keyboard", file, nil, number(100_001), "from 0 to 100000"},
		{"to zero, which the file doesn't allow", file, number(0), nil, "scale_to_zero"},
		{"to zero", zero, number(0), number(0), ""},
		{"a protected fleet", protected, number(3), nil, "protected"},
		{"hosts that a person joins", joined, number(3), nil, "joined by a person"},
		{"a fleet that is removed", removed, number(3), nil, "being removed"},
	} {
		got := cantScale(test.fleet, fleet.FleetScaleOverride{Min: test.least, Max: test.most})
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestWhatIsDecidedIsAuditedShownAndTakenBack(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	ada := access.LocalUser("ada")
	give := func(o StandingOrder) StandingReceipt {
		t.Helper()
		receipt, err := m.OrderStanding(as(t, ada), o)
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	all := []StandingOrder{
		{Kind: ScaleFleet, Fleet: "demo", Max: number(9), For: 2 * time.Hour, Reason: "release"},
		{Kind: PinInstance, Instance: "i1", For: time.Hour},
		{Kind: FreezeWrites, Fleet: "fleet.demo", ScaleUpOnly: true},
		{Kind: FreezeWrites, Provider: "local.here"},
		{Kind: QuarantineIt, Fleet: "demo"},
		{Kind: QuarantineIt, Instance: "i1"},
		{Kind: QuarantineIt, Image: "image.ubuntu"},
		{Kind: BreakGlass, Fleet: "demo", MaxHourly: fleet.Money{Micros: 900_000, Currency: "USD"}, For: time.Hour, Reason: "incident 12"},
	}
	for _, o := range all {
		if receipt := give(o); !receipt.Changed || receipt.Loop || receipt.Done == "" || receipt.Subject == "" {
			t.Errorf("%+v: %+v", o, receipt)
		}
	}
	fleets, err := m.Fleets(as(t, ada))
	if err != nil {
		t.Fatal(err)
	}
	demo := fleets[0]
	if demo.Operational != fleet.FleetFrozen || demo.Max != 9 || demo.Min != 2 || demo.Override == nil || len(demo.Overrides) != 5 || demo.Cost == nil || demo.Cost.MaxHourly.Micros != 900_000 {
		t.Errorf("%s, min %d, max %d, %+v, says %q", demo.Operational, demo.Min, demo.Max, demo.Override, demo.Overrides)
	}
	if i, err := m.Instance(as(t, ada), "i1"); err != nil || i.Pin == nil || i.Pin.By != "ada" {
		t.Errorf("pin %+v, %v", i.Pin, err)
	}
	for _, o := range all {
		o.End = true
		if receipt := give(o); !receipt.Changed {
			t.Errorf("%+v: %+v", o, receipt)
		}
		if again := give(o); again.Changed || again.Done != "there was nothing to take back" {
			t.Errorf("again: %+v", again)
		}
	}
	if orders, _ := m.store.Overrides(t.Context()); len(orders.Freezes)+len(orders.ScaleOverrides)+len(orders.Pins)+len(orders.Quarantines)+len(orders.CostOverrides) > 0 {
		t.Errorf("it stands: %+v", orders)
	}
	records, err := m.Audit(as(t, ada), 0)
	if err != nil || len(records) != 2*len(all) {
		t.Errorf("%d audit records: %v", len(records), err)
	}
	if n := slices.IndexFunc(records, func(r access.AuditRecord) bool {
		return strings.Contains(r.Detail, "release") && !strings.Contains(r.Detail, "taken back")
	}); n < 0 ||
		records[n].Action != "fleet scale" || records[n].By != "ada" || !strings.Contains(records[n].Detail, "fleet.demo: min = 2 and max = 9 until 2026-05-04 12:00 UTC") {
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
	for _, o := range []StandingOrder{{Kind: PinInstance, Instance: "i1", For: time.Hour}, {Kind: QuarantineIt, Instance: "i1"}} {
		if _, err := m.OrderStanding(as(t, access.LocalUser("ada")), o); !errors.As(err, new(*access.ConflictError)) {
			t.Errorf("%s: %v", o.Kind, err)
		}
	}
}

func TestReservationsAreMadeListedAndCancelled(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	ada := access.LocalUser("ada")
	good := ReservationRequest{Class: "small", Quantity: 3, Start: now.Add(time.Hour), End: now.Add(2 * time.Hour), LeadTime: 10 * time.Minute}
	with := func(change func(*ReservationRequest)) ReservationRequest {
		r := good
		change(&r)
		return r
	}
	for name, r := range map[string]ReservationRequest{
		"no such class":         with(func(r *ReservationRequest) { r.Class = "large" }),
		"none of them":          with(func(r *ReservationRequest) { r.Quantity = 0 }),
		"ends before it starts": with(func(r *ReservationRequest) { r.End = r.Start }),
		"over already":          with(func(r *ReservationRequest) { r.Start, r.End = now.Add(-time.Hour), now }),
		"dedicated to nobody":   with(func(r *ReservationRequest) { r.Dedicated = true }),
		"for two":               with(func(r *ReservationRequest) { r.Scope = fleet.FleetScope{Tenant: "a", Project: "b"} }),
		"no time":               with(func(r *ReservationRequest) { r.Start = time.Time{} }),
		"two lines of reason":   with(func(r *ReservationRequest) { r.Reason = "a\nb" }),
		"a tenant that steers":  with(func(r *ReservationRequest) { r.Scope.Tenant = "\x1b[2J" }),
	} {
		if _, err := m.Reserve(as(t, ada), r); !errors.As(err, new(*access.InvalidError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.Reserve(as(t, ada), with(func(r *ReservationRequest) { r.Fleet = "none" })); !errors.As(err, new(*access.NotFoundError)) {
		t.Errorf("no such fleet: %v", err)
	}
	made, err := m.Reserve(as(t, ada), good)
	if err != nil || made.ID == "" || made.Missing != 0 || made.State != "planned" {
		t.Fatalf("%+v, %v", made, err)
	}
	now = now.Add(time.Second) // of two that can't both be had, the first is served first
	// Told at once, kept, and told again in every plan.
	large, err := m.Reserve(as(t, ada), with(func(r *ReservationRequest) { r.Quantity = 4 }))
	if err != nil || large.Missing != 3 || large.Sentence == "" {
		t.Errorf("%+v, %v", large, err)
	}
	limited := access.Caller{Name: "bob", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.other"}}
	if _, err := m.Reserve(as(t, limited), good); !errors.As(err, new(*access.DeniedError)) {
		t.Errorf("a limited token reserves of any fleet: %v", err)
	}
	theirs, err := m.Reserve(as(t, limited), with(func(r *ReservationRequest) { r.Fleet, r.Scope.Tenant, r.Dedicated = "other", "acme", true }))
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

func TestReservationsThatHaveEndedLeaveRoomForOthers(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	s := snapshot.State{Fleets: []fleet.ManagedFleet{{ID: "f1", RunnerFleet: fleet.RunnerFleet{Address: "fleet.demo", Class: fleet.CapacityClass{Name: "small"}}}}}
	for n := range mostReservations {
		s.Overrides.Reservations = append(s.Overrides.Reservations, fleet.CapacityReservation{ID: fleet.CapacityReservationID(strconv.Itoa(n)), End: now})
	}
	want := ReservationRequest{Class: "small", Quantity: 1, Start: now, End: now.Add(time.Hour)}
	if _, err := newReservation(s, access.LocalUser("ada"), want, now); err != nil {
		t.Errorf("all of the others have ended: %v", err)
	}
	if _, err := newReservation(s, access.LocalUser("ada"), want, now.Add(-time.Minute)); !errors.As(err, new(*access.ConflictError)) {
		t.Errorf("none of the others has ended: %v", err)
	}
}

func TestAReasonThatSteersATerminalIsRefusedAndMakesNoPlanUnreadable(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	for _, reason := range []string{"\x1b[2J", "all is well\nfleet.demo is healthy", strings.Repeat("x", longestReason+1)} {
		order := StandingOrder{Kind: FreezeWrites, Fleet: "demo", Reason: reason}
		if _, err := m.OrderStanding(as(t, access.LocalUser("ada")), order); !errors.As(err, new(*access.InvalidError)) {
			t.Errorf("%.20q: %v", reason, err)
		}
	}
}
