package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Daemon is the one writer of an installation. Open takes the lock, Close gives it
// back.
type Daemon struct {
	query.Queries
	access.TokenStore
	access.AuditLog
	*keys.Keyrings
	*plans.Applier

	options workspace.Options
	store   *store.Store
	lock    *writerLock
	hub     *progress.Hub
	orders  orders.Handler
	joins   orders.Joins
	// observed is what the running loop knows beyond the store; zero: none runs.
	observed func() snapshot.Observations
	// listens is where agents find the running manager; nil: it doesn't run.
	listens atomic.Pointer[plans.Listening]

	// applying is held by an apply, from the fresh plan to the plugins' update.
	applying sync.Mutex
	mu       sync.Mutex
	running  *running // nil: not started
}

var _ installation.Service = (*Daemon)(nil)

// sweepWait is what a predecessor's plugins get to finish their answers.
const sweepWait = 10 * time.Second

// Open makes this process the writer of the state directory, which is created
// where it is missing. Another writer gives a *LockedError.
func Open(ctx context.Context, o workspace.Options) (*Daemon, error) {
	d := &Daemon{options: o, hub: progress.NewHub()}
	d.observed = d.hub.Observations
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Daemon) open(ctx context.Context) (err error) {
	o := d.options
	if o.Installation == "" {
		if err := o.Place.CheckInstalled(); err != nil {
			return err
		}
	}
	if err := workspace.MayHoldState(o.Place.State); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Place.State, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	if d.lock, err = takeWriterLock(
		o.Place.State,
		Holder{PID: os.Getpid(), Command: o.Command, Since: o.Clock()},
	); err != nil {
		return err
	}
	failpoint.WriterLocked.Hit()
	// Plugins of a manager that died may still be at work: no call of ours goes
	// out, and nothing is called absent, before they are gone.
	if err = process.Sweep(ctx, o.Place.Run, sweepWait); err != nil {
		return err
	}
	if d.store, err = store.Open(ctx, o.Place.Database()); err != nil {
		return err
	}
	if _, err = d.store.Claim(
		ctx,
		Holder{PID: os.Getpid(), Command: o.Command, Since: o.Clock()}.String(),
		o.Clock(),
	); err != nil {
		return err
	}
	failpoint.StoreClaimed.Hit()
	if o.Installation == "" {
		name, found, err := d.store.Setting(ctx, "installation")
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s: %w", o.Place.State, workspace.ErrNothingApplied)
		}
		d.options.Installation, o.Installation = name, name
	}
	if err = d.bind(ctx, o.Installation); err != nil {
		return err
	}
	d.assemble()
	return d.Keyrings.Load(ctx)
}

// assemble makes the parts that work with the store.
func (d *Daemon) assemble() {
	observed := func() snapshot.Observations { return d.observed() }
	now := query.Present{Clock: d.options.Clock, AgentVersion: d.options.Version, Observed: observed}
	d.Queries = query.New(d.store, now, d.refusedCalls)
	d.TokenStore, d.AuditLog = access.NewTokenStore(d.store, d.options.Clock), access.NewAuditLog(d.store)
	present := plans.Present{Present: now, Listening: d.listens.Load}
	d.Applier = plans.NewApplier(plans.NewPlanner(d.store, d.options, present), &d.applying, d.update)
	d.Keyrings = keys.New(d.store, d.options, observed)
	d.orders = orders.NewHandler(d.store, d.options.Clock, d.Queries, d.loop)
	d.joins = orders.Joins{
		Store: d.store, Clock: d.options.Clock, Version: d.options.Version,
		Tokens: &d.Enrollment, Applying: &d.applying, Bootstrap: d.joinBootstrap, Loop: d.loop,
	}
}

// loop is where orders go; nil: none runs.
func (d *Daemon) loop() *orders.Loop {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == nil {
		return nil
	}
	return d.running.orders
}

// Orders carries out what people decide.
func (d *Daemon) Orders() installation.Orders { return d.orders }

// CheckOrders says what Orders would do.
func (d *Daemon) CheckOrders() installation.Orders {
	return orders.NewChecker(d.store, d.options.Clock, d.Queries)
}

// CreateReservation promises capacity of a class for a time.
func (d *Daemon) CreateReservation(ctx context.Context, r orders.ReservationRequest) (planner.ReservationPlan, error) {
	return d.orders.CreateReservation(ctx, r)
}

// DeleteReservation ends a reservation that was made by command.
func (d *Daemon) DeleteReservation(ctx context.Context, id fleet.CapacityReservationID) error {
	return d.orders.DeleteReservation(ctx, id)
}

// Join claims a host of an inventory for a fleet and makes the command that joins it.
func (d *Daemon) Join(ctx context.Context, r orders.JoinRequest) (orders.JoinTicket, error) {
	return d.joins.Join(ctx, r)
}

// bind makes the state directory that of an installation, and refuses one that is
// another's. The keys in it carry the installation's name.
func (d *Daemon) bind(ctx context.Context, installation string) error {
	stored, found, err := d.store.Setting(ctx, "installation")
	switch {
	case err != nil || stored == installation:
		return err
	case !found:
		return d.store.SetSetting(ctx, "installation", installation)
	}
	applied, _, err := d.store.LoadApplied(ctx)
	if err != nil {
		return err
	}
	if applied.Serial == 0 {
		return fmt.Errorf(
			"the state directory %s was made for installation %q, to which nothing was applied; delete the directory, or use "+
				"another --state",
			d.options.Place.State,
			stored,
		)
	}
	return fmt.Errorf(
		"the state directory belongs to installation %q, not to %q; name the first in the forgeyard block or with "+
			"--installation, or use another --state",
		stored,
		installation,
	)
}

// Close closes the store and gives the lock back. It comes after Run.
func (d *Daemon) Close() error {
	var errs []error
	if d.store != nil {
		errs = append(errs, d.store.Close())
		failpoint.StoreClosed.Hit()
	}
	if d.lock != nil {
		errs = append(errs, d.lock.release())
	}
	return errors.Join(errs...)
}

// refusedCalls are what the agents' server refused since the manager started.
func (d *Daemon) refusedCalls() []fleet.Refusal {
	d.mu.Lock()
	r := d.running
	d.mu.Unlock()
	if r == nil {
		return []fleet.Refusal{}
	}
	return r.agents.server.Refusals()
}

// Settings say where agents reach the manager, as it was applied last.
func (d *Daemon) Settings(ctx context.Context) (fleet.ManagerSettings, error) {
	applied, _, err := d.store.Definition(ctx)
	return applied.Definition.Manager, err
}

// Listen opens the listener of the enrollment endpoint: where the definition
// says, else on loopback and the port that was chosen at the first start.
func (d *Daemon) Listen(ctx context.Context, settings fleet.ManagerSettings) (net.Listener, error) {
	address := settings.Listen
	if address == "" {
		stored, found, err := d.store.Setting(ctx, "listen")
		if err != nil {
			return nil, err
		}
		if address = stored; !found {
			address = "127.0.0.1:0"
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf(
			"listen for agents on %s: %w; end what uses the address, or set manager { listen } in the forgeyard block",
			address,
			err,
		)
	}
	if settings.Listen == "" {
		failpoint.PortUnremembered.Hit()
		if err := d.store.SetSetting(ctx, "listen", l.Addr().String()); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// newID makes the ids of rows.
func newID(now time.Time) (string, error) { return fleet.NewULID(now, rand.Reader) }

// Watch yields the progress of the loop.
func (d *Daemon) Watch(ctx context.Context) iter.Seq2[progress.Progress, error] {
	return d.hub.Watch(ctx)
}

// update tells a running loop and its plugins about a new definition.
func (d *Daemon) update(definition fleet.Definition) error {
	d.mu.Lock()
	r := d.running
	d.mu.Unlock()
	if r == nil {
		return nil
	}
	r.definition.Store(&definition)
	r.schedulers.update(definition)
	err := r.providers.update(definition)
	r.exec.Send(r.drained, loop.Applied{})
	return err
}
