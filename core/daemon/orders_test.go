package daemon

import (
	"errors"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/ordertest"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

// withInstance is an open manager whose store has one instance of fleet.demo.
func withInstance(t *testing.T) *Daemon {
	t.Helper()
	m := open(t, workspacetest.Options(t))
	t.Cleanup(func() { _ = m.Close() })
	f := fleet.ManagedFleet{
		ID:          "f1",
		Operational: fleet.FleetActive,
		RunnerFleet: fleet.RunnerFleet{Address: "fleet.demo", Provider: "local.here"},
	}
	if _, err := m.store.ApplyDefinition(
		t.Context(),
		store.Apply{
			Definition: fleet.Definition{Installation: "demo"},
			At:         m.options.Clock(),
			Fleets:     []fleet.ManagedFleet{f},
		},
	); err != nil {
		t.Fatal(err)
	}
	storeInstance(t, m)
	return m
}

func TestAnOrderIsForWhomMayGiveItAndForTheirFleets(t *testing.T) {
	m := withInstance(t)
	all := access.AllPermissions()
	limited := []fleet.FleetAddress{"fleet.other"}
	adopt := orders.AdoptRequest{Provider: "local.here", Resource: "x", Fleet: "fleet.demo"}
	replace := ordertest.Replaced{Instance: "i1"}
	for _, test := range []struct {
		name   string
		caller access.Caller
		order  any
		want   any
	}{
		{"a reader", access.Caller{Permissions: []access.Permission{access.ReadFleets}}, replace, new(*access.DeniedError)},
		{"who may drain doesn't resolve", access.Caller{Permissions: []access.Permission{access.DrainFleets}},
			orders.ResolveRequest{Outcome: orders.Gone, Instance: "i1"}, new(*access.DeniedError)},
		{"who may manage doesn't force a drain", access.Caller{Permissions: []access.Permission{access.ManageFleets}},
			orders.DrainRequest{Force: true, Instance: "i1"}, new(*access.DeniedError)},
		{"who may drain doesn't adopt", access.Caller{Permissions: []access.Permission{access.DrainFleets}}, adopt,
			new(*access.DeniedError)},
		{"another fleet's token doesn't know the instance", access.Caller{Permissions: all, Fleets: limited}, replace,
			new(*access.NotFoundError)},
		{"a limited token adopts nothing", access.Caller{Permissions: all, Fleets: []fleet.FleetAddress{"fleet.demo"}},
			adopt, new(*access.DeniedError)},
		{"no such instance", access.LocalUser("ada"), ordertest.Replaced{Instance: "i2"}, new(*access.NotFoundError)},
		{"no such fleet", access.LocalUser("ada"), orders.AdoptRequest{Fleet: "fleet.none"}, new(*access.NotFoundError)},
		// The loop would wait a minute for an inspection that never comes.
		{"no such provider", access.LocalUser("ada"),
			orders.AdoptRequest{Provider: "local.none", Resource: "x", Fleet: "fleet.demo"}, new(*access.InvalidError)},
		{"no such outcome", access.LocalUser("ada"), orders.ResolveRequest{Outcome: "dance", Instance: "i1"},
			new(*access.InvalidError)},
	} {
		if _, err := giveInstance(
			access.WithCaller(t.Context(), test.caller),
			m.Orders(),
			test.order,
		); !errors.As(
			err,
			test.want,
		) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := giveInstance(
		access.WithCaller(t.Context(), access.LocalUser("ada")),
		m.Orders(),
		replace,
	); err == nil ||
		!strings.Contains(err.Error(), "isn't running") {
		t.Errorf("a manager that isn't running: %v", err)
	}
}

// It said "instance drain of the instance … (drain_force) is refused".
func TestAnOrderIsNamedAsItWasTypedAndItsInstanceWhole(t *testing.T) {
	m := withInstance(t)
	for _, test := range []struct {
		order any
		want  string
	}{
		{orders.DrainRequest{Instance: "…1"}, "drain of the instance i1"},
		{orders.DrainRequest{Instance: "…1", Force: true}, "drain --force of the instance i1"},
		{ordertest.Replaced{Instance: "…1"}, "instance replace of the instance i1"},
		{orders.ResolveRequest{Instance: "…1", Outcome: orders.Created, Resource: "vm-1"},
			"instance resolve --created vm-1 of the instance i1"},
		{orders.ResolveRequest{Instance: "…1", Outcome: orders.NotCreated},
			"instance resolve --not-created of the instance i1"},
		{orders.ResolveRequest{Instance: "…1", Outcome: orders.Gone}, "instance resolve --gone of the instance i1"},
	} {
		got, err := giveInstance(as(t, access.LocalUser("ada")), m.CheckOrders(), test.order)
		if err != nil || got.Instance != "i1" || got.Done != test.want {
			t.Errorf("%+v: %q about %q, %v", test.order, got.Done, got.Instance, err)
		}
	}
}

// What was cut off by mistake would be an order about another instance.
func TestALetterOfAnIDIsNoOrderAboutIt(t *testing.T) {
	m := withInstance(t)
	_, err := m.CheckOrders().ReplaceInstance(as(t, access.LocalUser("ada")), "i")
	if wrong := (*access.InvalidError)(
		nil,
	); !errors.As(err, &wrong) ||
		!strings.Contains(err.Error(), "at least 8 letters") {
		t.Errorf("%v", err)
	}
}

func TestALimitedTokenSeesTheOrphansOfItsFleetsAndNothingForeign(t *testing.T) {
	m := withInstance(t)
	m.observed = func() snapshot.Observations {
		return snapshot.Observations{
			Unrecorded: map[fleet.ProviderAddress]fleet.Unrecorded{
				"local.here": {Orphans: 2, Foreign: 1, Resources: []fleet.UnrecordedResource{
					{
						ID:             "a",
						Classification: fleet.Orphan,
						Fleet:          "fleet.demo",
					},
					{ID: "b", Classification: fleet.Orphan},
					{ID: "c", Classification: fleet.Foreign},
				}},
			},
		}
	}
	for _, test := range []struct {
		fleets []fleet.FleetAddress
		want   int
	}{{nil, 3}, {[]fleet.FleetAddress{"fleet.demo"}, 1}, {[]fleet.FleetAddress{"fleet.other"}, 0}} {
		found, err := m.Unrecorded(
			access.WithCaller(t.Context(), access.Caller{Permissions: access.AllPermissions(), Fleets: test.fleets}),
		)
		if err != nil || len(found) != test.want {
			t.Errorf("limited to %v: %v, %v", test.fleets, found, err)
		}
	}
}

func TestAnErrorNamesACommandThatThereIs(t *testing.T) {
	for kind, want := range map[string]string{"fleet": "run: forgeyard-fleet list",
		"instance": "run: forgeyard-fleet instance list", "key": "run: forgeyard-fleet key list",
		"token": "run: forgeyard-fleet token list"} {
		if text := (&access.NotFoundError{Kind: kind, ID: "x"}).Error(); !strings.HasSuffix(text, want) {
			t.Errorf("%s: %s", kind, text)
		}
	}
}
