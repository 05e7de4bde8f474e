package agentserver_test

import (
	"net/http"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
)

// A connection's verified certificate is remembered only while the same authorities
// are trusted.
func TestOpenConnectionIsRefusedOnceItsAuthorityIsNotTrusted(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{Command: []string{"work"}})
	c := w.newCaller(newKey(t))
	c.enroll(h)
	for range 2 {
		if status, body := c.post(agentapi.HeartbeatPath, marshal(t, goodBeat())); status != http.StatusOK {
			t.Fatalf("a beat gave %d: %s", status, body)
		}
	}
	other, err := pki.LoadAuthority(t.TempDir(), installation, w.now())
	if err != nil {
		t.Fatal(err)
	}
	w.ring.Use(other)
	if status, body := c.post(agentapi.HeartbeatPath, marshal(t, goodBeat())); status != http.StatusUnauthorized {
		t.Errorf("a beat with a certificate of an authority that isn't trusted any more gave %d: %s", status, body)
	}
	w.ring.Use(w.authority)
	if status, body := c.post(agentapi.HeartbeatPath, marshal(t, goodBeat())); status != http.StatusOK {
		t.Errorf("trusted again, a beat gave %d: %s", status, body)
	}
}
