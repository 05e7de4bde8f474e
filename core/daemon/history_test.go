package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// past is an installation with fleets a and b; of ten instances 00 to 09 the even
// ones are a's, and 00 to 04 have ended.
func past(t *testing.T) *ReadOnly {
	t.Helper()
	o := workspacetest.Options(t)
	m := open(t, o)
	var rows []fleet.ManagedFleet
	for _, name := range []string{"a", "b"} {
		rows = append(
			rows,
			fleet.ManagedFleet{
				ID:          fleet.RunnerFleetID("f" + name),
				RunnerFleet: fleet.RunnerFleet{Address: fleet.FleetAddress("fleet." + name)},
				Operational: fleet.FleetActive,
			},
		)
	}
	if _, err := m.store.ApplyDefinition(
		t.Context(),
		store.Apply{Definition: fleet.Definition{Installation: "demo"}, Fleets: rows, By: "a test"},
	); err != nil {
		t.Fatal(err)
	}
	var change store.Change
	for n := range 10 {
		i := fleet.CapacityInstance{
			ID:      fleet.CapacityInstanceID(fmt.Sprintf("01i%02d", n)),
			Key:     fleet.OperationID(fmt.Sprint("k", n)),
			Fleet:   rows[n%2].ID,
			State:   fleet.Healthy,
			Created: time.Unix(int64(n), 0).UTC(),
		}
		if n < 5 {
			i.State, i.Reason = fleet.Terminated, reason.Plain(fmt.Sprint("ended for reason ", n))
		}
		change.Instances = append(change.Instances, i)
	}
	if err := m.store.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	o.Installation = "" // a reader needs no name
	look, err := OpenReadOnly(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = look.Close() })
	return look
}

func shown(h query.History) (ids []string) {
	for _, i := range h.Instances {
		ids = append(ids, string(i.ID[3:]))
	}
	return ids
}

func TestTheHistoryIsTheNewestFirstWithHowEachEnded(t *testing.T) {
	look := past(t)
	all, limited := access.WithCaller(
		t.Context(),
		access.LocalUser("ada"),
	), access.WithCaller(
		t.Context(),
		access.Caller{Name: "b's", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.b"}},
	)
	for name, test := range map[string]struct {
		ctx  context.Context
		q    query.HistoryFilter
		want string
		next fleet.CapacityInstanceID
	}{
		"everything":           {all, query.HistoryFilter{}, "09 08 07 06 05 04 03 02 01 00", ""},
		"a page":               {all, query.HistoryFilter{Limit: 3}, "09 08 07", "01i07"},
		"the next page":        {all, query.HistoryFilter{Limit: 3, Before: "01i07"}, "06 05 04", "01i04"},
		"the last page":        {all, query.HistoryFilter{Limit: 4, Before: "01i04"}, "03 02 01 00", ""},
		"of a fleet":           {all, query.HistoryFilter{Fleet: "a"}, "08 06 04 02 00", ""},
		"what ended":           {all, query.HistoryFilter{State: fleet.Terminated, Fleet: "fleet.b"}, "03 01", ""},
		"a limited caller's":   {limited, query.HistoryFilter{Limit: 2}, "09 07", "01i07"},
		"another's is nothing": {limited, query.HistoryFilter{Fleet: "a"}, "", ""},
	} {
		page, err := look.History(test.ctx, test.q)
		if err != nil || strings.Join(shown(page), " ") != test.want || page.Next != test.next {
			t.Errorf("%s: %v, next %q, %v", name, shown(page), page.Next, err)
		}
	}
	page, err := look.History(all, query.HistoryFilter{State: fleet.Terminated, Limit: 1})
	if err != nil || page.Instances[0].Reason.Text() != "ended for reason 4" || page.Instances[0].Fleet != "fleet.a" {
		t.Errorf("it shows %+v, %v", page.Instances, err)
	}
}

func TestTheBeginningOfAnIDFindsTheOnlyInstanceThatHasIt(t *testing.T) {
	look := past(t)
	all, limited := access.WithCaller(
		t.Context(),
		access.LocalUser("ada"),
	), access.WithCaller(
		t.Context(),
		access.Caller{Name: "b's", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.b"}},
	)
	for _, id := range []string{"01i03", "01I03"} {
		if i, err := look.Instance(all, id); err != nil || i.ID != "01i03" || i.Fleet != "fleet.b" {
			t.Errorf("%s is %+v, %v", id, i, err)
		}
	}
	_, err := look.Instance(all, "01i0")
	var invalid *access.InvalidError
	if !errors.As(err, &invalid) ||
		!strings.Contains(err.Error(), `10 instances have an id that begins or ends with "01i0"`) ||
		!strings.Contains(err.Error(), "01i09  fleet.b, healthy") {
		t.Errorf("an ambiguous id: %v", err)
	}
	if _, err := look.Instance(
		limited,
		"01i0",
	); err == nil || strings.Contains(err.Error(), "fleet.a") ||
		!strings.Contains(err.Error(), "5 instances") {
		t.Errorf("the candidates of a limited caller: %v", err)
	}
	for _, id := range []string{"", "x", "01i00", "01i000", "%"} {
		var missing *access.NotFoundError
		if _, err := look.Instance(limited, id); !errors.As(err, &missing) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// events shows "…cet6vksa", which was taken nowhere.
func TestTheEndOfAnIDAsEventsShowItFindsTheOnlyInstanceThatHasIt(t *testing.T) {
	look := past(t)
	all, limited := access.WithCaller(
		t.Context(),
		access.LocalUser("ada"),
	), access.WithCaller(
		t.Context(),
		access.Caller{Name: "b's", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.b"}},
	)
	for _, id := range []string{"…i03", "…03", "…I03"} {
		if i, err := look.Instance(all, id); err != nil || i.ID != "01i03" {
			t.Errorf("%s is %+v, %v", id, i, err)
		}
	}
	// 0 begins all of them and ends one, which the sign of an end tells apart.
	if i, err := look.Instance(all, "…0"); err != nil || i.ID != "01i00" {
		t.Errorf("…0 is %+v, %v", i, err)
	}
	var invalid *access.InvalidError
	if _, err := look.Instance(
		all,
		"0",
	); !errors.As(err, &invalid) ||
		!strings.Contains(err.Error(), `10 instances have an id that begins or ends with "0"; give more of it:`) ||
		strings.Count(err.Error(), "01i00") != 1 {
		t.Errorf("an ambiguous one: %v", err)
	}
	// What was cut off by mistake says of no instance that it is meant.
	var short *access.NotFoundError
	if _, err := look.Instance(all, "i03"); !errors.As(err, &short) {
		t.Errorf("i03 without the sign of an end: %v", err)
	}
	for _, id := range []string{"…", "…01i0", "…i00", "…%"} {
		var missing *access.NotFoundError
		if _, err := look.Instance(limited, id); !errors.As(err, &missing) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// token and status must work in a folder without fleet files.
func TestAStateDirectorySaysWhichInstallationItIs(t *testing.T) {
	o := workspacetest.Options(t)
	nameless := o
	nameless.Installation = ""
	if _, err := Open(t.Context(), nameless); !errors.Is(err, workspace.ErrNothingApplied) {
		t.Errorf("without a store: %v", err)
	}
	if err := open(t, o).Close(); err != nil {
		t.Fatal(err)
	}
	m := open(t, nameless)
	defer m.Close()
	if m.options.Installation != "demo" {
		t.Errorf("it is %q", m.options.Installation)
	}
}
