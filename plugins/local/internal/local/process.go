//go:build linux || darwin

package local

import (
	"os"
	"syscall"
)

// process is one line of the system's list of processes.
type process struct {
	pid, parent, session int
	zombie               bool
	begun                string // start time in the system's own unit
}

// identify names the process that has the pid now.
func identify(pid int) started {
	named := started{PID: pid, Boot: bootID()}
	if one, err := readProcess(pid); err == nil {
		named.Begun = one.begun
	}
	return named
}

// alive says whether this very process still runs. A zombie doesn't.
func (s started) alive() bool {
	if s.Boot != bootID() {
		return false
	}
	one, err := readProcess(s.PID)
	return err == nil && !one.zombie && one.begun == s.Begun
}

// mayLead says whether the session of that number can still be the one that the
// process led: it is of this boot, and no other process has the number.
func (s started) mayLead() bool {
	if s.Boot != bootID() {
		return false
	}
	one, err := readProcess(s.PID)
	return err != nil || one.begun == s.Begun
}

// signalProcess signals this very process or none. On linux os.FindProcess holds
// the process itself, so that its number can't change hands in between.
func signalProcess(named started, signal syscall.Signal) {
	handle, err := os.FindProcess(named.PID)
	if err != nil {
		return
	}
	defer handle.Release()
	if named.alive() {
		_ = handle.Signal(signal) // an end that came first is what was wanted
	}
}
