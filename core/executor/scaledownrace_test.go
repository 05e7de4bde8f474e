package executor_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/executor"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/machinefake"
)

const (
	token = "the token of the queue of this test"
	// runners is the fleet's max.
	runners = 32
	// faster is how much faster the manager's clock goes than that on the wall.
	faster = 20
)

var tries = flag.Int64("tries", 50, "how often a cordon and a job must meet; make test-race takes 200")

// raceWorld is a manager's loop, executor, store and agents' endpoint, a queue
// behind its HTTP server, and a provider whose machines live in this process.
type raceWorld struct {
	t      *testing.T
	begun  time.Time
	queue  *queue.Queue
	client *forgeyard.Client
	exec   *executor.Executor
	life   context.Context

	provider *machinefake.Provider
	mu       sync.Mutex
	hosts    map[fleet.OperationID]*host
	gave     map[fleet.CapacityInstanceID]agentserver.Connection
	// killed are the machines that were terminated with a job on them.
	killed []string

	// cordons are those that met a job, leaseWon those of them where the lease was
	// there first.
	cordons, leaseWon atomic.Int64
	meetings          sync.WaitGroup
}

func (w *raceWorld) now() time.Time { return w.begun.Add(faster * time.Since(w.begun)) }

// complain reports what a host couldn't do while its machine was there.
func (w *raceWorld) complain(ctx context.Context, format string, args ...any) {
	if ctx.Err() == nil {
		w.t.Errorf(format, args...)
	}
}

// newMachine is a host for a machine of the provider.
func (w *raceWorld) newMachine(item pluginhost.ProvisionItem) func(context.Context) {
	h := &host{w: w, clock: w.now, news: make(chan struct{}, 1), runner: item.Tags["forgeyard-capacity-instance"]}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts[item.Key] = h
	return func(ctx context.Context) { h.live(ctx, item.Bootstrap) }
}

// terminating looks for a job on what is about to end.
func (w *raceWorld) terminating(key fleet.OperationID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[key]
	if w.leases(h.runner) > 0 || h.leased.Load() {
		w.killed = append(w.killed, h.runner)
	}
	delete(w.hosts, key)
}

// spread has the agents call whose orders have changed. An agent's own timer would
// find that out, too, a little later.
func (w *raceWorld) spread(res loop.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range res.Instances {
		h := w.hosts[i.Key]
		order := lifecycle.OrderOf(i)
		if h != nil && h.order != order {
			h.order = order
			h.tell()
		}
	}
}

// leases is how many jobs the queue says that a runner has.
func (w *raceWorld) leases(runner string) int {
	for _, r := range w.queue.Runners().Running {
		if r.Runner == runner {
			return r.Leases
		}
	}
	return 0
}

// racing is the queue as the manager calls it: whenever it cordons a runner, a job
// comes at about the same moment.
type racing struct {
	*forgeyard.Client
	w *raceWorld
}

func (r racing) Stop(
	ctx context.Context,
	known scheduler.Known,
	order scheduler.StopOrder,
) (scheduler.Acknowledgement, error) {
	meets := r.w.cordons.Load() < *tries
	if meets {
		r.w.meetings.Go(func() {
			// Mostly one more than it takes, so that drains are taken back, too.
			for range 1 + mathrand.IntN(2) {
				pause(ctx, time.Duration(mathrand.IntN(2000))*time.Microsecond)
				if _, err := r.w.queue.Submit(queue.Submission{Command: []string{"true"}}); err != nil {
					r.w.t.Error(err)
				}
			}
		})
		pause(ctx, time.Duration(mathrand.IntN(2000))*time.Microsecond)
	}
	ack, err := r.Client.Stop(ctx, known, order)
	if meets && err == nil {
		if r.w.leases(string(known.Name)) > 0 {
			r.w.leaseWon.Add(1)
		}
		r.w.cordons.Add(1)
	}
	return ack, err
}

func racingFleet() fleet.ManagedFleet {
	timeouts := fleet.DefaultTimeouts()
	timeouts.Heartbeat = time.Hour // a busy machine must make no runner silent
	return fleet.ManagedFleet{ID: "f1", Operational: fleet.FleetActive, RunnerFleet: fleet.RunnerFleet{
		Address:   "fleet.demo",
		Provider:  lab,
		Scheduler: jobs,
		Instance:  json.RawMessage(`{}`),
		Class: fleet.CapacityClass{
			Name:      "c",
			Platform:  fleet.Platform{OS: "linux", Arch: "x86_64"},
			Trust:     "standard",
			Resources: fleet.ResourceCapacity{Slots: 1},
		},
		Scaling: fleet.ScalingPolicy{
			Max:       runners,
			ScaleDown: fleet.ScaleDownPolicy{IdleGrace: time.Second, Cooldown: 100 * time.Millisecond},
		},
		Timeouts:  timeouts,
		Admission: fleet.AdmissionPolicy{JobIsolation: fleet.JobIsolationNone},
		Lifetime:  fleet.LifetimeStable,
	}}
}

// A job is leased in the very moment in which its runner is cordoned for a
// scale-down, again and again, with the real loop, executor, store, scheduler's
// client, queue and agents' endpoint over real sockets: the job is never killed,
// and it runs once, whichever was first.
func TestAJobThatIsLeasedInTheMomentOfAScaleDownIsNeverKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes many seconds; make test-race runs it by itself")
	}
	w := beginRace(t)
	begun := time.Now()
	w.until("see enough tries", func() bool {
		w.feed()
		return w.cordons.Load() >= *tries
	})
	w.meetings.Wait()
	w.until("see every job done", w.over)
	won := w.leaseWon.Load()
	t.Logf(
		"%d tries in %.1f s: the lease won %d, the cordon %d",
		w.cordons.Load(),
		time.Since(begun).Seconds(),
		won,
		w.cordons.Load()-won,
	)
	if least := *tries / 20; won < least || w.cordons.Load()-won < least {
		t.Errorf("the lease won %d of %d: it was no race", won, w.cordons.Load())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.killed) > 0 {
		t.Errorf("terminated with a job on them: %s", strings.Join(w.killed, ", "))
	}
}

// feed submits jobs for as many runners as there may be, once most have gone and no
// job waits.
func (w *raceWorld) feed() {
	if len(w.queue.Runners().Running) > runners/2 || len(w.queue.Demand().Queued) > 0 {
		return
	}
	for range runners {
		if _, err := w.queue.Submit(queue.Submission{Command: []string{"true"}}); err != nil {
			w.t.Error(err)
		}
	}
}

// until waits for something that only a failure prevents.
func (w *raceWorld) until(what string, come func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); !come(); pause(w.life, 10*time.Millisecond) {
		if w.t.Failed() || time.Now().After(deadline) {
			w.t.Fatalf("timed out waiting to %s: %d tries, %+v", what, w.cordons.Load(), w.queue.Runners())
		}
	}
}

// over says that every job that is kept is done, once.
func (w *raceWorld) over() bool {
	for _, j := range w.queue.List().Jobs {
		if j.Losses > 0 || j.Attempts > 1 {
			w.t.Fatalf("the job %s was lost %d times, and begun %d times", j.ID, j.Losses, j.Attempts)
		}
		if j.State != queue.Succeeded {
			return false
		}
	}
	return true
}

// beginRace starts everything, and ends it with the test.
func beginRace(t *testing.T) *raceWorld {
	t.Helper()
	w := &raceWorld{
		t:     t,
		begun: time.Now(),
		hosts: map[fleet.OperationID]*host{},
		gave:  map[fleet.CapacityInstanceID]agentserver.Connection{},
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.life = ctx
	w.provider = machinefake.New(ctx, machinefake.Behavior{NewMachine: w.newMachine, Terminating: w.terminating})

	var n atomic.Int64
	w.queue = queue.New(queue.Options{Clock: time.Now, NewID: func() string { return fmt.Sprintf("job-%d", n.Add(1)) }})
	listening := httptest.NewUnstartedServer(nil)
	url := "http://" + listening.Listener.Addr().String()
	server, err := queue.NewServer(w.queue, url, token)
	must(err)
	listening.Config.Handler = server
	listening.Start()
	w.client = forgeyard.New(url, func(context.Context) (string, error) { return token, nil }, w.now)

	books := openBooks(t, w.now(), racingFleet())
	keys := newInstallationKeys(t, w.now())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	w.exec = executor.New(executor.Settings{
		Loop:      keys.newLoop(books, "https://"+listener.Addr().String(), w.now(), runners),
		Provider:  func(fleet.ProviderAddress) (executor.Provider, error) { return w.provider, nil },
		Scheduler: func(fleet.SchedulerAddress) (scheduler.Scheduler, error) { return racing{w.client, w}, nil },
		Connected: w.connected, Token: keys.tokens.TokenOf, Clock: w.now,
		Log: slog.New(slog.DiscardHandler), Observe: w.spread,
	})
	agents, err := agentserver.NewServer(agentserver.Config{
		Authorities:     pki.NewAuthoritySet(keys.authority),
		Tokens:          keys.tokens,
		Store:           books,
		Now:             w.now,
		Random:          rand.Reader,
		Connection:      w.connection,
		Wake:            w.exec.Wake,
		Logger:          slog.New(slog.DiscardHandler),
		CertificateLife: 24 * time.Hour,
		FlushInterval:   10 * time.Millisecond,
	})
	must(err)
	var serving sync.WaitGroup
	serving.Go(func() { _ = agents.Serve(listener) })
	serving.Go(func() {
		if err := w.exec.Run(ctx, ctx); err != nil {
			t.Error(err)
		}
	})
	// The manager's clock is fast, and its timers aren't: it is woken in their place.
	serving.Go(func() {
		for ctx.Err() == nil {
			w.exec.Wake()
			pause(ctx, 15*time.Millisecond)
		}
	})
	w.exec.Send(ctx, labReady())
	t.Cleanup(func() {
		cancel()
		w.provider.Wait()
		closing, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		_ = agents.Close(closing)
		listening.CloseClientConnections()
		listening.Close()
		serving.Wait()
		http.DefaultClient.CloseIdleConnections()
		w.client.Close()
		_ = books.Close()
	})
	return w
}

// connected and connection carry what the queue gave for a runner to its agent.
func (w *raceWorld) connected(id fleet.CapacityInstanceID, a scheduler.Admitted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gave[id] = agentserver.Connection{Command: a.Command, Environment: a.Environment}
	for _, h := range w.hosts {
		if h.runner == string(id) {
			h.tell()
		}
	}
}

func (w *raceWorld) connection(id fleet.CapacityInstanceID) (agentserver.Connection, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, given := w.gave[id]
	return c, given
}
