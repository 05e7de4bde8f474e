package main

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/agent"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
)

func TestAgentAndWorkerAgreeOnTheFileOfTheHostsEnd(t *testing.T) {
	if agent.InterruptionVariable != worker.HostInterruptionVariable {
		t.Errorf(
			"the agent names it by %s, the worker looks for %s",
			agent.InterruptionVariable,
			worker.HostInterruptionVariable,
		)
	}
}

func TestARehearsalElsewhereThanOnThisHostIsRefused(t *testing.T) {
	if _, err := metadataOf(
		"aws http://192.0.2.7:80",
	); err == nil || !strings.Contains(err.Error(), metadataVariable) ||
		!strings.Contains(err.Error(), "loopback") {
		t.Errorf("the error is %v", err)
	}
	if m, err := metadataOf("gcp http://127.0.0.1:80"); err != nil || m.Platform != "gcp" {
		t.Errorf("%+v, %v", m, err)
	}
}
