package agentserver_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

func TestALostEnrollmentAnswerGivesTheSameRunner(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{})
	lost := 0
	w.store.enrolled = func() {
		lost++
		w.cutter.cut() // after the token was spent, before the answer
	}
	w.startAgent(w.agentConfig(h))
	r := w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
	if lost != 1 || len(w.store.runners) != 1 {
		t.Errorf("the token was spent %d times for %d runners", lost, len(w.store.runners))
	}
	if !strings.Contains(w.log.String(), "enrolled again with the same key") {
		t.Error("the answer wasn't lost")
	}
	if r.Alert != "" || r.Tampered {
		t.Errorf("a lost answer raised an alarm: %+v", r)
	}
}

func TestATokenUsedWithAnotherKeyIsRefusedAndMarksTheRunner(t *testing.T) {
	for _, c := range []struct {
		name     string
		admitted bool
	}{{"before admission the runner is tampered with", false}, {"after admission it is an alert only", true}} {
		t.Run(c.name, func(t *testing.T) {
			w := startWorld(t)
			h := w.provision(fleet.RunnerPolicy{})
			w.startAgent(w.agentConfig(h))
			w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
			if c.admitted {
				w.setState(h.instance, fleet.Healthy, "")
			}
			wakes := w.wakes.Load()
			thief := w.startAgent(w.agentConfig(h)) // another state folder, so another key
			refusedWith(t, thief.wait(t), agentapi.CodeTokenOtherKey)
			r := w.shows(h, "the alert is stored", func(r fleet.Runner) bool { return r.Alert != "" })
			if r.Tampered == c.admitted {
				t.Errorf("Tampered is %v", r.Tampered)
			}
			w.eventually("the loop was woken", func() bool { return w.wakes.Load() > wakes })
			// Heartbeats that go on must not wipe the mark away.
			beats := r.Beats
			r = w.shows(h, "more beats are stored", func(r fleet.Runner) bool { return r.Beats > beats })
			if r.Alert == "" || r.Tampered == c.admitted {
				t.Errorf("a heartbeat changed the mark: %+v", r)
			}
			if strings.Contains(w.log.String(), h.token) {
				t.Error("the token is in the log")
			}
		})
	}
}

func refusedWith(t *testing.T, err error, code string) {
	t.Helper()
	var refused *agent.RefusedError
	if !errors.As(err, &refused) || refused.Code != code {
		t.Fatalf("the agent ended with %v, want code %s", err, code)
	}
}

func TestAnAgentGivesUpOnFinalRefusals(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(w *world, h *host)
		code    string
		says    string
	}{
		{"the token expired", func(w *world, h *host) {
			w.moveClock(0)
			expire(w, *h)
		}, agentapi.CodeTokenExpired, "expired on"},
		{"the token is made up", func(w *world, h *host) {
			h.token = h.token[:len(h.token)-4] + "aaaa"
		}, agentapi.CodeTokenUnknown, ""},
		{"the token is junk", func(w *world, h *host) { h.token = "junk" }, agentapi.CodeTokenUnknown, ""},
		{"the instance has failed", func(w *world, h *host) {
			w.setState(h.instance, fleet.Failed, "timeouts.boot is over")
		}, agentapi.CodeInstanceEnded, "timeouts.boot is over"},
		{"the instance is terminated", func(w *world, h *host) {
			w.setState(h.instance, fleet.Terminated, "gone")
		}, agentapi.CodeInstanceEnded, "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWorld(t)
			h := w.provision(fleet.RunnerPolicy{})
			c.prepare(w, &h)
			err := w.startAgent(w.agentConfig(h)).wait(t)
			refusedWith(t, err, c.code)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("the refusal is %q, want it to say %q", err, c.says)
			}
			if _, enrolled := w.runner(h); enrolled {
				t.Error("a runner was made")
			}
		})
	}
}

func expire(w *world, h host) {
	w.change(func(s *memoryStore) {
		o := s.operations[h.operation]
		o.TokenExpires = w.now().Add(-time.Second)
		s.operations[h.operation] = o
	})
}

func TestAnAgentRefusesAnotherManager(t *testing.T) {
	for name, spoil := range map[string]func(*bootstrap.Document){
		"with another authority": func(d *bootstrap.Document) { d.CAFingerprint = "sha256:" + strings.Repeat("0", 64) },
		"with another name":      func(d *bootstrap.Document) { d.ServerName = "manager.other.forgeyard-fleet.internal" },
	} {
		t.Run(name, func(t *testing.T) {
			w := startWorld(t)
			h := w.provision(fleet.RunnerPolicy{})
			c, document := w.agentConfig(h), w.document(h)
			spoil(&document)
			c.TLS = trust(document)
			err := w.startAgent(c).wait(t)
			var untrusted *agent.UntrustedManagerError
			if !errors.As(err, &untrusted) {
				t.Fatalf("the agent ended with %v", err)
			}
			if _, enrolled := w.runner(h); enrolled {
				t.Error("the token was sent all the same")
			}
		})
	}
}

func TestHostWithWrongClockEnrollsOnceItIsSet(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{})
	w.moveClock(400 * 24 * time.Hour) // the server's certificate isn't valid yet by the host's clock
	w.change(func(s *memoryStore) {
		o := s.operations[h.operation]
		o.TokenExpires = w.now().Add(time.Hour)
		s.operations[h.operation] = o
	})
	var behind = time.Now
	c := w.agentConfig(h)
	set := make(chan struct{})
	c.Now = func() time.Time {
		select {
		case <-set:
			return w.now()
		default:
			return behind()
		}
	}
	w.startAgent(c)
	w.eventually("both times are named", func() bool {
		log := w.log.String()
		return strings.Contains(log, "code=clock_skew") && strings.Contains(log, behind().UTC().Format("2006-01-02")) &&
			strings.Contains(log, w.now().UTC().Format("2006-01-02"))
	})
	close(set)
	w.shows(h, "the agent beats once its clock is set", func(r fleet.Runner) bool { return r.Beats > 0 })
}
