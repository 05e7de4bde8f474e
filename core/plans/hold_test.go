package plans

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// A plan of a corrected provider went on to show the failures of the wrong one.
func TestPlanOfChangedProviderIgnoresItsOldHold(t *testing.T) {
	a := &applied{t: t}
	d := file("one")
	a.apply(d)
	a.observed = snapshot.Observations{
		Since: now,
		Holds: map[fleet.RunnerFleetID]snapshot.Hold{
			"f1": {Reason: reason.Plain("10 failures in a row"), Until: now.Add(time.Minute)},
		},
	}
	if p := a.plan(d).Preview.Fleets[0]; p.Create != 0 || !reason.Is[reason.HeldBack](p.Waiting[0]) {
		t.Errorf("unchanged, it starts %d: %+v", p.Create, p.Waiting)
	}
	d.Providers = []fleet.Provider{{Address: "local.here", Advertise: "https://manager.example", Config: []byte(`{}`)}}
	if p := a.plan(d).Preview.Fleets[0]; p.Create != 1 || len(p.Waiting) > 0 {
		t.Errorf("with another address it starts %d: %+v", p.Create, p.Waiting)
	}
}
