//go:build unix

package pluginhost

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

// superviseReal runs a supervisor on real processes; ready waits for its next one.
func superviseReal(t *testing.T, mode string) (s *Supervisor, ready func() SupervisorStatus) {
	changes := make(chan SupervisorStatus, 100)
	l := launch(t, mode)
	s = NewSupervisor(
		Supervision{Launch: l, Configuration: Configuration{Installation: "acme"}, Jitter: func() float64 { return 0 },
			StopGrace: 100 * time.Millisecond, Changed: func(s SupervisorStatus) { changes <- s }},
	)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		wantEmpty(t, l.RunDir)
	})
	return s, func() SupervisorStatus {
		t.Helper()
		for {
			select {
			case status := <-changes:
				if status.State == SupervisorReady {
					return status
				}
			case <-time.After(time.Minute):
				t.Fatal("it isn't ready")
			}
		}
	}
}

// Killed, noticed, replaced and configured again.
func TestAKilledPluginIsReplaced(t *testing.T) {
	s, ready := superviseReal(t, "")
	first := ready()
	first.Process.child.KillGroup("of a test")
	second := ready()
	if second.Generation != 2 || second.Account != "account of acme" || second.Process == first.Process {
		t.Errorf("%+v after %+v", second, first)
	}
	process, generation, err := s.Current()
	if err != nil || generation != 2 {
		t.Fatal(generation, err)
	}
	if _, err := process.Inspect(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// A plugin that lives and doesn't answer: nothing but its end makes sure that
// the calls under way are over.
func TestAHungPluginIsReplacedAndItsCallsAreOver(t *testing.T) {
	for name, test := range map[string]struct {
		mode string
		hang func(*testing.T, *Process)
	}{
		"its process stands still":           {"", func(t *testing.T, p *Process) { freeze(t, pidOf(t, p)) }},
		"its handler doesn't return":         {"", func(*testing.T, *Process) {}},
		"it doesn't end when it is asked to": {"stays", func(*testing.T, *Process) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s, ready := superviseReal(t, test.mode)
			first := ready()
			began, answer := make(chan struct{}), make(chan ProvisionAnswer, 1)
			go func() {
				request := ProvisionRequest{
					Fleet: "fleet.small",
					Items: []ProvisionItem{{Key: "k", Name: "created"}, {Key: "k2", Name: "hang"}},
				}
				_ = first.Process.Provision(t.Context(), request, func(a ProvisionAnswer) {
					if a.Key == "k" {
						close(began)
						return
					}
					answer <- a
				})
			}()
			<-began
			test.hang(t, first.Process)
			s.Restart("it answers no inspection")
			second := ready()
			if second.Generation != 2 {
				t.Errorf("%+v", second)
			}
			if a := <-answer; a.Outcome != fleet.ProvisionUnknown || !a.CallOver {
				t.Errorf("what was under way is %s, over %v (%v)", a.Outcome, a.CallOver, a.Err)
			}
			if _, err := second.Process.Inspect(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestARestartCountsAsADeathAndIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, healthy)
		for n := range DeathLimit {
			process := b.current
			b.Restart("it answers no inspection")
			b.Restart("and again")
			synctest.Wait()
			if s := b.Status(); s.Deaths != n+1 || !strings.Contains(fmt.Sprint(s.Err), "it answers no inspection") {
				t.Fatalf("%+v", s)
			}
			<-process.Exited()
			b.pass(time.Minute + 12*time.Second)
		}
		b.want(t, SupervisorBroken, DeathLimit)
		if told := strings.Count(fmt.Sprint(b.seen), string(SupervisorWaiting)); told != DeathLimit-1 {
			t.Errorf("%v: a death is told %d times", b.seen, told)
		}
	})
}

func TestAWishToRestartIsForgottenWhereNothingServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, healthy)
		b.die()
		b.Restart("it answers no inspection")
		b.pass(restartDelays[0])
		b.want(t, SupervisorReady, 2)
		b.pass(time.Hour)
		b.want(t, SupervisorReady, 2)
	})
}

// hashicorp/nomad#28286: a call that fails after the handshake leaks the process.
func TestAPluginThatRefusesItsBlockIsNotLeftRunning(t *testing.T) {
	for name, body := range map[string]string{"by a complaint": `"refused"`, "by an error": `"auth"`} {
		t.Run(name, func(t *testing.T) {
			l := launch(t, "")
			held := make(chan SupervisorStatus, 10)
			s := NewSupervisor(
				Supervision{Launch: l, Configuration: Configuration{Provider: secret.Resolved{Body: []byte(body)}},
					Changed: func(s SupervisorStatus) {
						if s.State == SupervisorHeld {
							held <- s
						}
					}},
			)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); s.Run(ctx) }()
			defer func() { cancel(); <-done }()
			select {
			case <-held:
			case <-time.After(time.Minute):
				t.Fatal("it isn't held")
			}
			// Its directory goes with its process.
			eventually(t, "nothing is left of it", func() bool {
				return len(must(os.ReadDir(l.RunDir))) == 0
			})
		})
	}
}
