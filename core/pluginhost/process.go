//go:build unix

package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Process is one running plugin. Its methods may be called side by side.
type Process struct {
	launch   Launch
	child    *process.Child
	dir      *process.Directory
	conn     *grpc.ClientConn
	rpc      providerpb.ProviderClient
	redactor *pluginlog.Redactor // of all that the plugin says

	// closeClient runs go-plugin's Kill once and waits for it.
	closeClient func()
	stopping    atomic.Bool
	// gone is closed when the process is reaped and nothing of it is left.
	gone    chan struct{}
	cleanup error // valid once gone is closed
	// leftBehind is closed when Stop gave up on a process that doesn't end.
	leftBehind chan struct{}
	giveUp     func() // closes leftBehind, once
}

// Exited is closed as soon as the process has ended: every call that it was
// working on is over then.
func (p *Process) Exited() <-chan struct{} { return p.child.Exited() }

// ExitCause tells why the process ended, with its last log lines; nil while it
// lives.
func (p *Process) ExitCause() error {
	status := p.child.ExitStatus()
	switch {
	case status == nil:
		return nil
	case p.stopping.Load():
		return fmt.Errorf("%s was stopped (%w)", p.launch.title(), status)
	}
	return fmt.Errorf("%s ended (%w)%s", p.launch.title(), status, p.child.Log.LastLines())
}

// PID is the process's id, for status output.
func (p *Process) PID() string { return p.child.ID() }

func (p *Process) hasExited() bool {
	select {
	case <-p.Exited():
		return true
	default:
		return false
	}
}

// tend owns the process: it watches the connection while the process lives and
// cleans up when it has ended for any cause.
func (p *Process) tend() {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { p.watchConnection(ctx) })
	<-p.Exited()
	cancel()
	watching.Wait()
	p.closeClient()
	p.child.AwaitOutput()
	p.cleanup = p.dir.Remove()
	if p.cleanup != nil {
		p.launch.Logger.Warn("a launch directory is left behind", "error", p.cleanup)
	}
	close(p.gone)
}

// watchConnection ends a process whose connection is lost: it is stuck or shuts
// down, nothing that it says can be heard any more, and only its end makes sure
// that the calls under way are over.
func (p *Process) watchConnection(ctx context.Context) {
	if !p.conn.WaitForStateChange(ctx, connectivity.Ready) || p.stopping.Load() {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(process.DrainGrace): // its own exit status tells more
		p.child.KillGroup("it lost its connection to the manager")
	}
}

// stopLimit bounds the wait for a process that the kernel doesn't let go, for
// instance one that waits for a dead network file system.
const stopLimit = 10 * time.Second

// Stop asks the process to end and kills its whole group when the grace is
// over. It returns when the process is reaped and its files are removed; the
// error says what couldn't be. Calls under way are lost: Drain first.
func (p *Process) Stop(grace time.Duration) error {
	p.stopping.Store(true)
	// go-plugin's Kill waits for ever for a plugin that is alive but stuck
	// (hashicorp/terraform#38939).
	go p.closeClient()
	timer := time.NewTimer(max(grace, 0))
	defer timer.Stop()
	select {
	case <-p.Exited():
	case <-timer.C:
		p.child.KillGroup("it did not end within the grace period")
	}
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-p.gone:
		return p.cleanup
	case <-limit.C:
		p.giveUp()
		return errors.New("stop " + p.launch.title() + ": process " + p.PID() +
			" is killed and does not end; see what it waits for (ps shows state D), and restart the host if it stays")
	}
}
