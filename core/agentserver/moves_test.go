package agentserver_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestAnAgentWhoseManagerMovedGoesOnAskingAtItsURL(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{})
	a := w.startAgent(w.agentConfig(h))
	w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
	known := w.address
	w.stopManager()
	w.address = "127.0.0.1:0"
	w.startManager() // elsewhere, which the agent has no way to know
	w.logged("call to the manager failed")
	if len(a.ended) > 0 {
		t.Fatalf("the agent ended: %v", <-a.ended)
	}
	w.stopManager()
	before, _ := w.runner(h)
	w.address = known
	w.startManager()
	w.shows(h, "it is heard again where it knows the manager", func(r fleet.Runner) bool { return r.Beats > before.Beats })
}

func TestAgentThatLostItsStateIsRefusedWithAReason(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{})
	c := w.agentConfig(h)
	a := w.startAgent(c)
	w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
	w.setState(h.instance, fleet.Healthy, "")
	w.stopManager() // so that the end of the agent isn't told
	a.cancel()
	if err := a.wait(t); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(c.StateDir); err != nil {
		t.Fatal(err)
	}
	w.startManager()
	err := w.startAgent(c).wait(t)
	var refused *agent.RefusedError
	if !errors.As(err, &refused) || refused.Code != agentapi.CodeTokenOtherKey ||
		!strings.Contains(err.Error(), "already spent with another key") {
		t.Fatalf("the agent ended with %v", err)
	}
	r := w.shows(h, "the manager tells of it", func(r fleet.Runner) bool { return r.Alert != "" })
	if r.Tampered || w.refusal(agentapi.CodeTokenOtherKey).Instance != h.instance {
		t.Errorf("an admitted instance was marked: %+v", r)
	}
}

func TestRenewalFollowsTheManagersClock(t *testing.T) {
	w, h, c := startWorldWithCaller(t)
	c.enroll(h)
	renew := func() (int, string) {
		status, body := c.post(
			agentapi.RenewPath,
			marshal(t, agentapi.RenewRequest{CSR: csr(t, c.key), Clock: time.Unix(0, 0)}),
		) // a host's clock of 1970
		return status, string(body)
	}
	offline := fleet.DefaultTimeouts().MaxOffline
	for _, step := range []struct {
		by     time.Duration
		status int
		says   string
	}{
		{30 * time.Minute, 200, `"renew_after_seconds":1800,"max_offline_seconds":604800`},
		{29 * time.Minute, 200, "renew_after_seconds"},
		// c still shows the first certificate, which is an hour old now and ends.
		{offline, 200, "renew_after_seconds"},
		{2 * time.Minute, 403, agentapi.CodeCertificateLapsed},
	} {
		w.moveClock(step.by)
		if status, body := renew(); status != step.status || !strings.Contains(body, step.says) {
			t.Errorf("%s later a renewal gave %d %s, want %d with %s", step.by, status, body, step.status, step.says)
		}
	}
	if seen := w.refusal(
		agentapi.CodeCertificateLapsed,
	); seen.Instance != h.instance ||
		!strings.Contains(seen.Reason, "the host must be replaced") {
		t.Errorf("who looks sees %+v", seen)
	}
}
