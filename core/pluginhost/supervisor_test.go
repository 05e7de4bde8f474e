//go:build unix

package pluginhost

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
)

// fakeProcess is a supervised process without an operating system.
type fakeProcess struct {
	exited      chan struct{}
	end         func()
	diagnostics []fleet.PluginDiagnostic
	configured  error
	watch       func(ctx context.Context, handle func(Notice)) error
}

func newFakeProcess() *fakeProcess {
	exited := make(chan struct{})
	return &fakeProcess{exited: exited, end: sync.OnceFunc(func() { close(exited) })}
}

func (f *fakeProcess) Configure(context.Context, Configuration) (string, []fleet.PluginDiagnostic, error) {
	return "acme", f.diagnostics, f.configured
}
func (f *fakeProcess) Exited() <-chan struct{} { return f.exited }
func (f *fakeProcess) ExitCause() error        { return errors.New("it fell over") }
func (f *fakeProcess) Watch(ctx context.Context, handle func(Notice)) error {
	if f.watch == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.watch(ctx, handle)
}
func (f *fakeProcess) Stop(time.Duration) error { f.end(); return nil }

// bench is a supervisor on fake processes in fake time.
type bench struct {
	*Supervisor
	seen    []SupervisorState
	current *fakeProcess
	starts  int
	mu      sync.Mutex
	noticed []Notice
}

// supervise runs a supervisor in the bubble of a synctest; next makes the
// process of each start.
func supervise(t *testing.T, next func() (*fakeProcess, error)) *bench {
	b := &bench{}
	b.Supervisor = NewSupervisor(Supervision{
		Launch:  Launch{Plugin: "test", Provider: "test.here"},
		Jitter:  func() float64 { return 0.5 },
		Changed: func(s SupervisorStatus) { b.seen = append(b.seen, s.State) },
	})
	b.start = func(context.Context) (supervised, error) {
		b.starts++
		process, err := next()
		if err != nil {
			return nil, err
		}
		b.current = process
		return process, nil
	}
	b.supervision.Noticed = func(_ context.Context, n Notice) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.noticed = append(b.noticed, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if state := b.Status().State; state != SupervisorStopped {
			t.Errorf("it ended as %s", state)
		}
	})
	synctest.Wait()
	return b
}

func healthy() (*fakeProcess, error) { return newFakeProcess(), nil }

func (b *bench) die() {
	b.current.end()
	synctest.Wait()
}

func (b *bench) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bench) want(t *testing.T, state SupervisorState, generation int) {
	t.Helper()
	if s := b.Status(); s.State != state || s.Generation != generation {
		t.Fatalf("%s in generation %d (%v), want %s in %d", s.State, s.Generation, s.Err, state, generation)
	}
}

func TestADeadPluginIsStartedAgainLaterEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, healthy)
		b.want(t, SupervisorReady, 1)
		if account := b.Status().Account; account != "acme" {
			t.Errorf("account %q", account)
		}
		for i, delay := range restartDelays[:4] {
			b.die()
			b.want(t, SupervisorWaiting, i+1)
			if until := time.Until(b.Status().NextStart); until != delay {
				t.Errorf("after death %d it waits %s, want %s", i+1, until, delay)
			}
			_, _, err := b.Current()
			wantError(t, err, "provider test.here", "waiting", "it fell over")
			b.pass(delay - time.Nanosecond)
			b.want(t, SupervisorWaiting, i+1)
			b.pass(time.Nanosecond)
			b.want(t, SupervisorReady, i+2)
		}
	})
}

func TestFiveDeathsInTenMinutesBreakAProviderUntilItIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, healthy)
		for range 4 {
			b.die()
			b.pass(time.Minute)
		}
		b.die()
		b.want(t, SupervisorBroken, 5)
		_, _, err := b.Current()
		wantError(t, err, "died 5 times within 10m0s", "until it is told to", "it fell over")
		b.pass(24 * time.Hour)
		b.want(t, SupervisorBroken, 5)
		b.Retry()
		synctest.Wait()
		b.want(t, SupervisorReady, 6)
		b.die()
		b.want(t, SupervisorWaiting, 6) // the old deaths are forgotten
		if deaths := b.Status().Deaths; deaths != 1 {
			t.Errorf("%d deaths", deaths)
		}
	})
}

func TestDeathsThatAreFarApartDoNotBreakAProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, healthy)
		for i := range 20 {
			b.pass(3 * time.Minute)
			b.die()
			b.want(t, SupervisorWaiting, i+1)
			b.pass(time.Minute)
		}
	})
}

func TestALongLifeMakesTheNextStartQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, healthy)
		b.die()
		b.pass(time.Second)
		b.die()
		b.pass(2 * time.Second)
		b.pass(DeathWindow)
		b.die()
		if until := time.Until(b.Status().NextStart); until != restartDelays[0] {
			t.Errorf("it waits %s", until)
		}
	})
}

func TestAPluginThatCannotBeStartedCountsAsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, func() (*fakeProcess, error) { return nil, errors.New("no memory") })
		b.pass(time.Hour)
		b.want(t, SupervisorBroken, 5)
	})
}

func TestWhatOnlyAPersonCanMendIsNotTriedAgain(t *testing.T) {
	for name, next := range map[string]func() (*fakeProcess, error){
		"a refused executable": func() (*fakeProcess, error) {
			return nil, &process.ExecutableError{Path: "/store/x", Reason: "is missing", Advice: "install it"}
		},
		"a refused provider block": func() (*fakeProcess, error) {
			f := newFakeProcess()
			f.diagnostics = []fleet.PluginDiagnostic{{Warning: true, Summary: "odd"}, {Summary: "no such region"}}
			return f, nil
		},
		"refused credentials": func() (*fakeProcess, error) {
			f := newFakeProcess()
			f.configured = &CallError{Class: fleet.ErrorAuth}
			return f, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := supervise(t, next)
				b.pass(24 * time.Hour)
				b.want(t, SupervisorHeld, 1)
				if b.current != nil {
					<-b.current.Exited() // and no process is kept
				}
				b.Retry()
				synctest.Wait()
				b.want(t, SupervisorHeld, 2)
			})
		})
	}
}

func TestAProviderThatCannotBeReachedIsTriedAgainForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, func() (*fakeProcess, error) {
			f := newFakeProcess()
			f.configured = &CallError{Class: fleet.ErrorTransient, Message: "no route to host"}
			return f, nil
		})
		b.pass(time.Hour)
		if s := b.Status(); s.State != SupervisorWaiting || s.Deaths != 0 || s.Generation < 60 {
			t.Errorf("%+v", s)
		}
	})
}

func TestAWarningDoesNotKeepAPluginFromServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, func() (*fakeProcess, error) {
			f := newFakeProcess()
			f.diagnostics = []fleet.PluginDiagnostic{{Warning: true, Summary: "old region"}}
			return f, nil
		})
		b.want(t, SupervisorReady, 1)
		if d := b.Status().Diagnostics; len(d) != 1 {
			t.Errorf("%v", d)
		}
	})
}

func TestARetryWhereNothingWaitsIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, healthy)
		b.Retry()
		b.die()
		b.want(t, SupervisorWaiting, 1)
	})
}

func TestNobodyIsHandedADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, healthy)
		b.die()
		want := []SupervisorState{SupervisorStarting, SupervisorReady, SupervisorWaiting}
		if !slices.Equal(b.seen, want) {
			t.Errorf("states %v, want %v", b.seen, want)
		}
	})
}

func TestJitterStaysWithinAFifth(t *testing.T) {
	for jitter, want := range map[float64]time.Duration{0: 800 * time.Millisecond, 0.5: time.Second,
		1: 1200 * time.Millisecond} {
		if got := (&deathHistory{}).delay(jitter); got != want {
			t.Errorf("jitter %v: %s, want %s", jitter, got, want)
		}
	}
}

// Who applies every minute must not keep a provider from being broken, and what
// is broken must not stay so for ever.
func TestAnApplyMendsWhatWaitsForAPersonAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, healthy)
		for n := range DeathLimit {
			b.die()
			b.RetryStopped()
			synctest.Wait()
			if n < DeathLimit-1 {
				b.want(t, SupervisorWaiting, n+1)
				b.pass(time.Minute)
			}
		}
		b.want(t, SupervisorReady, DeathLimit+1)
		if deaths := b.Status().Deaths; deaths != 0 {
			t.Errorf("%d deaths are remembered", deaths)
		}
	})
}
