package control

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reconcile"
)

// A wait so short that it was over before the run began was an error.
func TestARunWhoseWaitIsOverIsAnOrderedStop(t *testing.T) {
	m := open(t, options(t))
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	plan := Plan{definition: fleet.Definition{Installation: m.options.Installation}}
	if _, err := m.Apply(t.Context(), plan, "a test"); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// With nothing to do, a last step may find everything settled.
	outcome, err := m.RunUntilSettled(over, Running{Listener: listener, Observe: func(reconcile.Result) {}}, time.Hour)
	if err != nil || outcome.Ending != Interrupted && outcome.Ending != Settled {
		t.Errorf("it ended as %q with %v", outcome.Ending, err)
	}
}
