package enroll_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestACertificateIsRenewedBeforeItExpires(t *testing.T) {
	w := newWorld(t)
	w.life = 2 * time.Second // renewed after one
	w.startManager()
	h := w.provision(fleet.RunnerPolicy{})
	w.startAgent(w.agentConfig(h))
	first := w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
	w.shows(h, "it has another certificate", func(r fleet.Runner) bool { return r.Serial != first.Serial && r.NotAfter.After(first.NotAfter) })
}

func TestACertificateThatExpiredWhileTheManagerWasAwayIsRenewed(t *testing.T) {
	w := newWorld(t)
	w.startManager()
	h := w.provision(fleet.RunnerPolicy{})
	w.startAgent(w.agentConfig(h))
	first := w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
	w.stopManager()
	w.moveClock(48 * time.Hour) // by the manager's clock alone; max_offline is a week
	w.startManager()
	w.shows(h, "it renewed and beats", func(r fleet.Runner) bool { return r.Serial != first.Serial && r.Beats > first.Beats })

	w.stopManager()
	w.moveClock(8 * 24 * time.Hour)
	w.startManager()
	w.eventually("a certificate that expired longer ago than max_offline is refused", func() bool {
		return strings.Contains(w.log.String(), "longer ago than max_offline")
	})
}

func TestARevokedRunnerEndsItsJobAndExits(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(w *world, h host)
		code string
	}{
		{"the runner is revoked", func(w *world, h host) {
			w.change(func(s *memoryStore) {
				r := s.runners[s.spent[h.operation]]
				r.Revoked = w.now()
				s.runners[r.ID] = r
			})
		}, agentapi.CodeRevoked},
		{"the instance is terminated", func(w *world, h host) { w.setState(h.instance, fleet.Terminated, "proven gone") }, agentapi.CodeInstanceEnded},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.startManager()
			pidFile := filepath.Join(t.TempDir(), "pid")
			h := w.provision(fleet.RunnerPolicy{Command: []string{"sh", "-c", "echo $$ > " + pidFile + "; exec sleep 600"}})
			w.setState(h.instance, fleet.Bootstrapping, "")
			a := w.startAgent(w.agentConfig(h))
			w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
			w.setState(h.instance, fleet.Healthy, "")
			pid := w.pid(pidFile)
			c.end(w, h)
			refusedWith(t, a.wait(t), c.code)
			if alive(pid) {
				t.Error("the job goes on")
			}
		})
	}
}
