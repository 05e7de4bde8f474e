package control

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/enroll"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// Options are what a manager is opened with. All fields but LookupEnv are
// required.
type Options struct {
	Place Place
	// Installation may be empty where the state directory, which has a store
	// already, is to say it.
	Installation string
	// Version is of this program; agents must match its minor version.
	Version string
	// Command is what the user typed, for whoever finds the lock held.
	Command string
	Clock   func() time.Time
	Log     *slog.Logger
	// LookupEnv reads the environment in which secret references are resolved;
	// nil: this process's.
	LookupEnv func(string) (string, bool)
}

func (o Options) lookup() func(string) (string, bool) {
	if o.LookupEnv == nil {
		return os.LookupEnv
	}
	return o.LookupEnv
}

// Manager is the one writer of an installation. Open takes the lock, Close
// gives it back.
type Manager struct {
	reading
	lock        *writerLock
	authorities enroll.Authorities
	tokens      enroll.Tokens
	// ownership makes and checks the proofs in resource tags. A rotation replaces
	// it while the loop runs.
	ownership atomic.Pointer[ownership.Keyring]
	hub       *hub
	desk      orderDesk
	// keysMu is held while a key is changed.
	keysMu sync.Mutex

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
func Open(ctx context.Context, o Options) (*Manager, error) {
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
		if err := isInstalled(o.Place); err != nil {
			return err
		}
	}
	if err := mayHoldState(o.Place.State); err != nil {
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
	if m.store, err = store.Open(ctx, databasePath(o.Place)); err != nil {
		return err
	}
	if _, err = m.store.Claim(ctx, Holder{PID: os.Getpid(), Command: o.Command, Since: o.Clock()}.String(), o.Clock()); err != nil {
		return err
	}
	failpoint.StoreClaimed.Hit()
	if o.Installation == "" {
		name, found, err := m.store.Setting(ctx, "installation")
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s: %w", o.Place.State, ErrNothingApplied)
		}
		m.options.Installation, o.Installation = name, name
	}
	if err = m.bind(ctx, o.Installation); err != nil {
		return err
	}
	return m.loadKeys(ctx)
}

// bind makes the state directory that of an installation, and refuses one that is
// another's. A directory to which nothing was applied is nobody's yet.
func (m *Manager) bind(ctx context.Context, installation string) error {
	applied, _, err := m.store.LoadApplied(ctx)
	if err != nil {
		return err
	}
	if applied.Serial == 0 {
		return m.store.SetSetting(ctx, "installation", installation)
	}
	return m.remember(ctx, "installation", installation,
		"the state directory belongs to installation %q, not to %q; name the first in the forgeyard block or with --installation, or use another --state")
}

const databaseName = "fleet.db"

func keysFolder(p Place) string { return filepath.Join(p.State, "keys") }

func databasePath(p Place) string { return filepath.Join(p.State, databaseName) }

// remember keeps a value at the first start and insists on it afterwards.
func (m *Manager) remember(ctx context.Context, name, value, mismatch string) error {
	stored, found, err := m.store.Setting(ctx, name)
	switch {
	case err != nil:
		return err
	case !found:
		return m.store.SetSetting(ctx, name, value)
	case stored != value:
		return fmt.Errorf(mismatch, stored, value)
	}
	return nil
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

// ServerCertificate is the manager's own, for listeners beside the agents'.
func (m *Manager) ServerCertificate() (*tls.Certificate, error) {
	return m.authorities.Signing().ServerCertificate(m.options.Clock())
}

// Fingerprint is of the installation's authority: what clients pin.
func (m *Manager) Fingerprint() string { return m.authorities.Signing().Fingerprint() }

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
