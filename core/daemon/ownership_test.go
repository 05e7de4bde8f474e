package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

// Without its key an orphan is somebody else's: it is never removed.
func TestAnOwnershipKeyIsNotDroppedUnderOrphans(t *testing.T) {
	o := workspacetest.Options(t)
	at := now
	o.Clock = func() time.Time { return at }
	m := open(t, o)
	defer m.Close()
	ctx := as(t, access.LocalUser("ada"))
	definition := fleet.Definition{
		Installation: "demo",
		Providers:    []fleet.Provider{{Address: "local.here", Config: []byte(`{}`)}},
	}
	if _, err := m.store.ApplyDefinition(ctx, store.Apply{Definition: definition, At: at, By: "ada"}); err != nil {
		t.Fatal(err)
	}
	old := m.Ownership().KeyID()
	if _, err := m.RotateKey(ctx, "ownership"); err != nil {
		t.Fatal(err)
	}
	at = at.Add(2 * keys.RetiredKept)
	seen := map[fleet.ProviderAddress]time.Time{"local.here": at}
	for _, c := range []struct {
		name     string
		observed snapshot.Observations
		want     string
	}{
		{"no manager runs", m.observed(), "no running manager has looked"},
		{"the provider was seen before and can't be now",
			snapshot.Observations{Inspected: seen,
				Unobserved: map[fleet.ProviderAddress]reason.Reason{
					"local.here": reason.Of(reason.PluginDown{Message: "its plugin is down."})}},
			"can't be seen (its plugin is down)"},
		{"an orphan is there",
			snapshot.Observations{Inspected: seen,
				Unrecorded: map[fleet.ProviderAddress]fleet.Unrecorded{"local.here": {Orphans: 1}}}, "has orphans (1)"},
		{"what is there is all somebody else's",
			snapshot.Observations{Inspected: seen,
				Unrecorded: map[fleet.ProviderAddress]fleet.Unrecorded{"local.here": {Foreign: 1}}}, ""},
	} {
		m.observed = func() snapshot.Observations { return c.observed }
		err := m.DeleteKey(ctx, old)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if m.Ownership().Knows(old) {
		t.Error("the key is still known")
	}
}
