package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agent/lockfile"
	"github.com/forgeyard/forgeyard-fleet/core/agent/metadata"
	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// AlreadyRunningError says that another agent holds the lock file. It is the normal end
// of a second start.
type AlreadyRunningError = lockfile.HeldError

// Config is everything that an agent needs to know. The first five values come
// from its bootstrap document and its command line; the others have defaults.
type Config struct {
	// ManagerURL is the https address of the manager.
	ManagerURL string
	// TLS gives a new configuration that trusts one manager only, by its
	// VerifyConnection: that of the bootstrap document, or, where trust isn't zero,
	// the one that this names. Validity is checked against the configuration's Time only
	// with checkTime.
	TLS func(trust agentapi.Trust, checkTime bool) *tls.Config
	// Token is spent once; it is a secret until then.
	Token string
	// StateDir holds the key, the certificate, the job's files and the log.
	StateDir string
	// Version of the agent.
	Version string

	// LockFile is held for the agent's life and has its pid in it; empty:
	// StateDir/lock.
	LockFile string
	// Probes shows capabilities by name; nil: HostProbes().
	Probes map[string]Probe
	// HostMark is passed on to every job in HostMarkVariable, so that a process which
	// started the agent finds its jobs even when the agent has ended; empty: none.
	HostMark string
	// Stay makes the end of the process by a signal no end of the runner: it says
	// nothing to the manager, and the same runner is expected back, as after a
	// reboot of a host that isn't anybody's to replace.
	Stay bool
	// Path is where a job's commands are found; empty: the agent's own PATH.
	Path string
	// BootstrapFile is where the token was read from, which no job may read; empty:
	// from no file.
	BootstrapFile string
	// JobsDir has the folders of jobs that run as another user; empty: isolation.DefaultJobsDir.
	JobsDir string
	// Helper is the command line that reaches isolation.AsJob, by which isolated jobs start;
	// empty: no job can be isolated.
	Helper []string
	// Metadata is the metadata service that gives notice of the host's end; nil:
	// there is none.
	Metadata *metadata.Service
	// NoticeInterval is how often it is asked; 0: 5 seconds.
	NoticeInterval time.Duration
	// CleanupTime bounds a run of the clean-up hook; 0: 5 minutes.
	CleanupTime time.Duration
	// Retry is how calls that failed are tried again; zero: 1s to 30s.
	Retry Backoff
	// Restart is how a command that fails at once is run again; zero: 1s to 1m.
	Restart Backoff
	// Grace is how long a job may take to end after it was asked; 0: 10s.
	Grace time.Duration
	// LogLimit is how many bytes of a job's output are kept; 0: 4 MiB.
	LogLimit int64
	// Now is the host's clock; nil: time.Now. Durations never come from it.
	Now func() time.Time
	// Random gives numbers in [0,1) for jitter; nil: math/rand.
	Random func() float64
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.ManagerURL == "" || c.TLS == nil || c.Token == "" || c.StateDir == "" || c.Logger == nil {
		return c, errors.New("an agent needs the manager's URL and how to trust it, a token, a state folder and a logger")
	}
	state, err := filepath.Abs(c.StateDir)
	if err != nil {
		return c, fmt.Errorf("find the state folder %s: %w", c.StateDir, err)
	}
	c.StateDir = state
	if c.LockFile == "" {
		c.LockFile = filepath.Join(c.StateDir, "lock")
	}
	if c.Probes == nil {
		c.Probes = HostProbes()
	}
	if c.Path == "" {
		c.Path = os.Getenv("PATH")
	}
	if c.JobsDir == "" {
		c.JobsDir = isolation.DefaultJobsDir
	}
	if c.NoticeInterval == 0 {
		c.NoticeInterval = noticeInterval
	}
	if c.CleanupTime == 0 {
		c.CleanupTime = 5 * time.Minute
	}
	if c.Retry == (Backoff{}) {
		c.Retry = Backoff{First: time.Second, Most: 30 * time.Second}
	}
	if c.Restart == (Backoff{}) {
		c.Restart = Backoff{First: time.Second, Most: time.Minute}
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.LogLimit == 0 {
		c.LogLimit = 4 << 20
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return c, nil
}

// Run is the agent's life. It returns nil when the agent ended as it should: a
// limit was reached and told, or ctx ended and the job with it.
// *AlreadyRunningError: another agent holds the lock. *RefusedError: the manager
// doesn't want this agent. *UntrustedManagerError: it isn't our manager.
func Run(ctx context.Context, c Config) error {
	c, err := c.withDefaults()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		return fmt.Errorf("make the agent's state folder: %w", err)
	}
	lock, err := lockfile.Take(c.LockFile)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := process.AdoptOrphans(); err != nil {
		return fmt.Errorf("become the parent of processes that jobs leave behind: %w", err)
	}
	history, err := openHistory(c.StateDir)
	if err != nil {
		return err
	}
	identity, err := openIdentity(c.StateDir, c.Token)
	if err != nil {
		return err
	}
	client, err := newClient(c, identity.record.Trust)
	if err != nil {
		return err
	}
	defer client.close()
	var service *metadata.Client
	if c.Metadata != nil {
		service = metadata.NewClient(*c.Metadata)
	}
	var renewAfter time.Duration // a stored certificate's age is unknown: renew at once
	if !identity.enrolled() {
		if renewAfter, err = enroll(ctx, c, client, identity, service); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	certificate, err := identity.certificate()
	if err != nil {
		return err
	}
	client.use(certificate)
	r := newRunner(c, client, identity, history, renewAfter)
	r.metadata = service // whose token is still good
	defer r.close()
	return r.run(ctx)
}
