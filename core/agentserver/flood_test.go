package agentserver_test

import (
	"bytes"
	"crypto/tls"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestAFloodOfStrangersHurtsNoAgentBehindTheSameAddress(t *testing.T) {
	w := startWorld(t)
	agent := w.newCaller(newKey(t))
	agent.enroll(w.provision(fleet.RunnerPolicy{}))
	stranger := w.newCaller(newKey(t))
	refused := 0
	for range 150 {
		status, body := stranger.post(agentapi.EnrollPath, "junk")
		if status == 429 && bytes.Contains(body, []byte(agentapi.CodeTooMany)) {
			refused++
		}
	}
	if refused < 25 {
		t.Errorf("of 150 failed calls %d were refused", refused)
	}
	if seen := w.refusal(agentapi.CodeTooMany); seen.Calls != refused {
		t.Errorf("who looks sees %+v", seen)
	}
	for range 150 {
		if status, body := agent.post(agentapi.HeartbeatPath, marshal(t, goodBeat())); status != 200 {
			t.Fatalf("the agent's beat gave %d %s", status, body)
		}
	}
	// Connections that no one uses don't keep the agent out either.
	for range 400 {
		idle, err := tls.Dial("tcp", w.address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			continue // it was among the oldest already
		}
		t.Cleanup(func() { _ = idle.Close() })
	}
	agent.http.CloseIdleConnections()
	if status, body := agent.post(agentapi.HeartbeatPath, marshal(t, goodBeat())); status != 200 {
		t.Fatalf("on a new connection the agent's beat gave %d %s", status, body)
	}
}
