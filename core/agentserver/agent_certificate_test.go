package agentserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestACertificateIsRenewedBeforeItExpires(t *testing.T) {
	w := newWorld(t)
	w.life = 2 * time.Second // renewed after one
	w.startManager()
	h := w.provision(fleet.RunnerPolicy{})
	w.startAgent(w.agentConfig(h))
	first := w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
	w.shows(
		h,
		"it has another certificate",
		func(r fleet.Runner) bool { return r.Serial != first.Serial && r.NotAfter.After(first.NotAfter) },
	)
}

func TestACertificateThatExpiredWhileTheManagerWasAwayIsRenewed(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{})
	w.startAgent(w.agentConfig(h))
	first := w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
	w.stopManager()
	w.moveClock(48 * time.Hour) // by the manager's clock alone; max_offline is a week
	w.startManager()
	w.shows(
		h,
		"it renewed and beats",
		func(r fleet.Runner) bool { return r.Serial != first.Serial && r.Beats > first.Beats },
	)

	w.stopManager()
	w.moveClock(8 * 24 * time.Hour)
	w.startManager()
	w.eventually("a certificate that expired longer ago than max_offline is refused", func() bool {
		return strings.Contains(w.log.String(), "longer ago than max_offline")
	})
}
