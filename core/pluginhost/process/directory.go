//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/forgeyard/forgeyard-fleet/core/replacefile"
)

// Directory is the private directory of one launch:
//
//	RUN_DIR/run-N/launch.json   who launched it, and which process it is
//	RUN_DIR/run-N/lock          held by the plugin's process for its life
//	RUN_DIR/run-N/s/pluginN     the plugin's socket
//
// It is removed with the process. Where the host dies first, Sweep does it.
type Directory struct {
	Path   string
	record launchRecord
}

// launchRecord lets a later host tell whether a process is the one that was
// launched here; pids are reused (hashicorp/nomad#23969).
type launchRecord struct {
	Plugin string       `json:"plugin"`
	Host   processStamp `json:"host"`
	// Process is zero until the plugin has started.
	Process processStamp `json:"process,omitzero"`
}

// processStamp is a pid with what tells the process from later ones of that
// pid: the time of its start, in the system's own words.
type processStamp struct {
	PID     int    `json:"pid"`
	Started string `json:"started"`
}

// alive says that the process that was stamped still runs.
func (s processStamp) alive() bool {
	if s.PID <= 0 || s.Started == "" {
		return false
	}
	started, err := StartTime(s.PID)
	return err == nil && started == s.Started
}

// LockFD is the descriptor of the launch lock in the plugin's process.
const LockFD = 3

const (
	launchPattern = "run-*"
	recordName    = "launch.json"
	lockName      = "lock"
	socketsName   = "s"
)

// NewDirectory makes the directory and writes the host's stamp into it.
func NewDirectory(runDir, plugin string) (*Directory, error) {
	if err := checkRunDir(runDir); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(runDir, launchPattern)
	if err != nil {
		return nil, fmt.Errorf("make a launch directory: %w; give the manager a run directory that it can write to", err)
	}
	d := &Directory{Path: path, record: launchRecord{Plugin: plugin}}
	started, err := StartTime(os.Getpid())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the manager's own start time: %w", err), d.Remove())
	}
	d.record.Host = processStamp{PID: os.Getpid(), Started: started}
	if err := errors.Join(d.write(), os.Mkdir(d.Sockets(), 0o700)); err != nil {
		return nil, errors.Join(fmt.Errorf("fill launch directory %s: %w", path, err), d.Remove())
	}
	return d, nil
}

// checkRunDir makes the run directory, refuses one that others may write to,
// and one whose sockets would have too long a name: the system cuts those off
// or fails with "invalid argument".
func checkRunDir(runDir string) error {
	if err := os.MkdirAll(runDir, 0o700); err != nil {
		return fmt.Errorf("make run directory: %w; give the manager a run directory that it can write to", err)
	}
	info, err := os.Stat(runDir)
	if err != nil {
		return fmt.Errorf("stat run directory: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf(
			"run directory %s may be changed by other users (mode %04o); run: chmod 0700 %s",
			runDir,
			info.Mode().Perm(),
			runDir,
		)
	}
	longest := len(filepath.Join(runDir, "run-4294967295", socketsName, "plugin4294967295"))
	if limit := socketNameLimit(); longest > limit {
		return fmt.Errorf(
			"run directory %s is %d bytes too long for a socket's name (the system's limit is %d); choose a shorter one, for "+
				"instance by XDG_RUNTIME_DIR",
			runDir,
			longest-limit,
			limit,
		)
	}
	return nil
}

// socketNameLimit is the size of sun_path without its final zero byte.
func socketNameLimit() int {
	if runtime.GOOS == "linux" {
		return 107
	}
	return 103
}

// Sockets is where the plugin makes its socket.
func (d *Directory) Sockets() string { return filepath.Join(d.Path, socketsName) }

// checkSocket refuses an address that isn't a socket of this launch: a process that
// answers elsewhere isn't the process that was verified, and a socket elsewhere
// is left behind.
func (d *Directory) checkSocket(network, address string) error {
	if network != "unix" {
		return errors.New("that is not a Unix socket")
	}
	info, err := os.Lstat(address)
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("that is not a socket (%s)", info.Mode())
	}
	own, err := filepath.EvalSymlinks(d.Path)
	if err != nil {
		return err
	}
	directory, err := filepath.EvalSymlinks(filepath.Dir(address))
	if err != nil {
		return err
	}
	if within, err := filepath.Rel(own, directory); err != nil || !filepath.IsLocal(within) {
		return errors.New("that is outside of its own launch directory")
	}
	return nil
}

// lock makes the lock file and takes its lock. The lock belongs to the open
// file and lasts until the last process that has it open is gone.
func (d *Directory) lock() (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(d.Path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make launch lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("take launch lock %s: %w", file.Name(), err), file.Close())
	}
	return file, nil
}

// setProcess writes down which process the launch became. One that has ended
// already needs no record: its exit status tells what happened.
func (d *Directory) setProcess(pid int) error {
	started, err := StartTime(pid)
	if err != nil {
		return nil
	}
	d.record.Process = processStamp{PID: pid, Started: started}
	return d.write()
}

func (d *Directory) write() error {
	content, err := json.Marshal(d.record)
	if err != nil {
		return fmt.Errorf("encode launch record: %w", err)
	}
	// Replaced and never half written: a host may die here.
	if err := replacefile.Write(filepath.Join(d.Path, recordName), content, 0o600); err != nil {
		return fmt.Errorf("write launch record: %w", err)
	}
	return nil
}

// Remove removes the directory with all that is in it.
func (d *Directory) Remove() error {
	if err := os.RemoveAll(d.Path); err != nil {
		return fmt.Errorf("remove launch directory: %w", err)
	}
	return nil
}
