package progress

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// firstSeen is what a caller who begins to watch sees at once; false: nothing.
func firstSeen(t *testing.T, h *Hub, c access.Caller) (Progress, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(access.WithCaller(t.Context(), c), 20*time.Millisecond)
	defer cancel()
	for p, err := range h.Watch(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		return p, true
	}
	return Progress{}, false
}

func TestNothingIsObservedOnceTheLoopHasEnded(t *testing.T) {
	h := NewHub()
	h.Begin(now)
	if got := h.Observations(); !got.Since.Equal(now) {
		t.Errorf("a loop that began listens since %s", got.Since)
	}
	observed := snapshot.Observations{Since: now, Blocked: map[fleet.ProviderAddress]string{"local.here": "broken"}}
	h.Publish(Progress{At: now, Serial: 1}, observed)
	if diff := cmp.Diff(observed, h.Observations()); diff != "" {
		t.Errorf("after a step (-want +got)\n%s", diff)
	}
	h.End()
	if diff := cmp.Diff(snapshot.Observations{}, h.Observations()); diff != "" {
		t.Errorf("after the end (-want +got)\n%s", diff)
	}
	if p, seen := firstSeen(t, h, access.LocalUser("ada")); seen {
		t.Errorf("who watches after the end sees %+v", p)
	}
}

func TestNewWatcherSeesTheNewestStepWithoutItsMoves(t *testing.T) {
	h := NewHub()
	h.Publish(Progress{At: now, Serial: 2, Transitions: []loop.Transition{{Instance: "a"}}}, snapshot.Observations{})
	if p, seen := firstSeen(t, h, access.LocalUser("ada")); !seen || p.Serial != 2 || len(p.Transitions) > 0 {
		t.Errorf("it sees %+v", p)
	}
}

func TestWatchIsForReadersAndTheirFleets(t *testing.T) {
	h := NewHub()
	h.Publish(
		Progress{At: now, Silent: map[fleet.CapacityInstanceID]fleet.FleetAddress{"a1": "fleet.a", "b1": "fleet.b"}},
		snapshot.Observations{},
	)
	limited := access.Caller{Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.b"}}
	if p, _ := firstSeen(t, h, limited); len(p.Silent) != 1 || p.Silent["b1"] != "fleet.b" {
		t.Errorf("a limited caller sees %v", p.Silent)
	}
	for _, err := range h.Watch(access.WithCaller(t.Context(), access.Caller{Name: "eve"})) {
		if !errors.As(err, new(*access.DeniedError)) {
			t.Errorf("who may nothing gets %v", err)
		}
		break
	}
}
