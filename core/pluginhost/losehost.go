//go:build unix

package pluginhost

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
)

// What the conformance kit does to a plugin, and a manager never does.

// Connection is the bare connection to the plugin: answers come as they are, but
// for what is redacted.
func (p *Process) Connection() grpc.ClientConnInterface { return p.conn }

// Kill tears the plugin off, in the middle of whatever it does, and returns when
// nothing of it is left.
func (p *Process) Kill() error {
	p.child.KillGroup("the conformance kit tears it off")
	return p.Stop(0)
}

// orphanPoll is how often the remains of an orphan are looked at.
const orphanPoll = 20 * time.Millisecond

// LoseHost lets go of all that the host holds of the plugin, as the system does
// when the host is killed: the connection, and its ends of the three pipes. It
// gives what is left of the plugin when the limit is over, ends that, and returns
// when nothing of it is left.
func (p *Process) LoseHost(ctx context.Context, limit time.Duration) (left []string, err error) {
	p.stopping.Store(true)
	pid, err := strconv.Atoi(p.PID())
	if err != nil {
		return nil, fmt.Errorf("take the host of %s away: %w", p.launch.title(), err)
	}
	p.child.LoseHost()
	_ = p.conn.Close()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(orphanPoll)
	defer ticker.Stop()
	for over := false; !over && len(p.remains(pid)) > 0; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			over = true
		}
	}
	left = p.remains(pid)
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		return left, fmt.Errorf("end what is left of %s: %w", p.launch.title(), err)
	}
	// A signal only begins the end, and Stop waits for the leader alone.
	for killed := time.Now(); process.GroupLives(pid) && time.Since(killed) < stopLimit; {
		<-ticker.C
	}
	return left, p.Stop(0)
}

// remains are what an orphan should have taken with it. Its group has the number
// of the process that led it, which isn't reused while a member lives.
func (p *Process) remains(pid int) []string {
	var left []string
	switch {
	case !p.hasExited():
		left = append(left, fmt.Sprintf("its process %d", pid))
	case process.GroupLives(pid):
		left = append(left, fmt.Sprintf("a process of its group %d", pid))
	}
	sockets, _ := filepath.Glob(filepath.Join(p.dir.Sockets(), "*"))
	for _, socket := range sockets {
		if _, err := os.Lstat(socket); err == nil {
			left = append(left, "its socket "+filepath.Base(socket))
		}
	}
	return left
}
