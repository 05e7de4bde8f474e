package control

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Manager is the one writer of an installation. Open takes the lock, Close
// gives it back.
type Manager struct {
	reading
	access.TokenStore
	access.AuditLog
	lock *writerLock
	*keys.Keyrings
	hub  *hub
	desk orderDesk

	// applying is held by an apply, from the fresh plan to the plugins' update.
	applying sync.Mutex
	mu       sync.Mutex
	running  *running // nil: not started
}

var _ Service = (*Manager)(nil)

// sweepWait is what a predecessor's plugins get to finish their answers.
const sweepWait = 10 * time.Second

// Open makes this process the writer of the state directory, which is created
// where it is missing. Another writer gives a *LockedError.
func Open(ctx context.Context, o workspace.Options) (*Manager, error) {
	m := &Manager{reading: reading{options: o}, hub: newHub()}
	m.observed, m.refused = m.hub.observations, m.refusedCalls
	if err := m.open(ctx); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Manager) open(ctx context.Context) (err error) {
	o := m.options
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
	if m.lock, err = takeWriterLock(o.Place.State, Holder{PID: os.Getpid(), Command: o.Command, Since: o.Clock()}); err != nil {
		return err
	}
	failpoint.WriterLocked.Hit()
	// Plugins of a manager that died may still be at work: no call of ours goes
	// out, and nothing is called absent, before they are gone.
	if err = pluginhost.Sweep(ctx, o.Place.Run, sweepWait); err != nil {
		return err
	}
	if m.store, err = store.Open(ctx, o.Place.Database()); err != nil {
		return err
	}
	if _, err = m.store.Claim(ctx, Holder{PID: os.Getpid(), Command: o.Command, Since: o.Clock()}.String(), o.Clock()); err != nil {
		return err
	}
	m.TokenStore, m.AuditLog = access.NewTokenStore(m.store, o.Clock), access.NewAuditLog(m.store)
	failpoint.StoreClaimed.Hit()
	if o.Installation == "" {
		name, found, err := m.store.Setting(ctx, "installation")
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s: %w", o.Place.State, workspace.ErrNothingApplied)
		}
		m.options.Installation, o.Installation = name, name
	}
	if err = m.bind(ctx, o.Installation); err != nil {
		return err
	}
	m.Keyrings = keys.New(m.store, m.options, func() snapshot.Observations { return m.observed() })
	return m.Keyrings.Load(ctx)
}

// bind makes the state directory that of an installation, and refuses one that is
// another's. The keys in it carry the installation's name.
func (m *Manager) bind(ctx context.Context, installation string) error {
	stored, found, err := m.store.Setting(ctx, "installation")
	switch {
	case err != nil || stored == installation:
		return err
	case !found:
		return m.store.SetSetting(ctx, "installation", installation)
	}
	applied, _, err := m.store.LoadApplied(ctx)
	if err != nil {
		return err
	}
	if applied.Serial == 0 {
		return fmt.Errorf("the state directory %s was made for installation %q, to which nothing was applied; delete the directory, or use another --state",
			m.options.Place.State, stored)
	}
	return fmt.Errorf("the state directory belongs to installation %q, not to %q; name the first in the forgeyard block or with --installation, or use another --state",
		stored, installation)
}

// Close closes the store and gives the lock back. It comes after Run.
func (m *Manager) Close() error {
	var errs []error
	if m.store != nil {
		errs = append(errs, m.store.Close())
		failpoint.StoreClosed.Hit()
	}
	if m.lock != nil {
		errs = append(errs, m.lock.release())
	}
	return errors.Join(errs...)
}

// Settings say where agents reach the manager, as it was applied last.
func (m *Manager) Settings(ctx context.Context) (fleet.ManagerSettings, error) {
	applied, _, err := m.store.Definition(ctx)
	return applied.Definition.Manager, err
}

// Listen opens the listener of the enrollment endpoint: where the definition
// says, else on loopback and the port that was chosen at the first start.
func (m *Manager) Listen(ctx context.Context, settings fleet.ManagerSettings) (net.Listener, error) {
	address := settings.Listen
	if address == "" {
		stored, found, err := m.store.Setting(ctx, "listen")
		if err != nil {
			return nil, err
		}
		if address = stored; !found {
			address = "127.0.0.1:0"
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for agents on %s: %w; end what uses the address, or set manager { listen } in the forgeyard block", address, err)
	}
	if settings.Listen == "" {
		failpoint.PortUnremembered.Hit()
		if err := m.store.SetSetting(ctx, "listen", l.Addr().String()); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// newID makes the ids of rows.
func newID(now time.Time) (string, error) { return fleet.NewULID(now, rand.Reader) }
