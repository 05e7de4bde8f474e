//go:build linux || darwin

package local

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	stopPoll = 20 * time.Millisecond
	// killTime bounds the wait for processes that were killed.
	killTime = 5 * time.Second
)

// stop ends the agent, first by asking, and then everything that is left of it.
// It says whether nothing is left.
func (m *machine) stop(ctx context.Context, d directory, force bool) (bool, error) {
	family, err := d.family()
	if err != nil {
		return false, err
	}
	if !force && family.agent != nil {
		signalProcess(*family.agent, unix.SIGTERM)
		if err := family.awaitEnd(ctx, m.grace); err != nil {
			return false, err
		}
	}
	return family.kill(ctx)
}

// family is the agent and everything that it started.
type family struct {
	agent *started // nil: it doesn't run
	// mark is what the agent and its jobs carry in their environment.
	mark string
	// unmarked are processes that were looked at and don't carry it.
	unmarked map[started]bool
	// sessions are those that the agent led. A session's number isn't given to
	// another process while one of its members lives.
	sessions map[int]bool
	known    map[int]started // processes found so far
}

// family finds the agent by the lock that it holds or by the record of its start.
func (d directory) family() (family, error) {
	found := family{mark: string(d), unmarked: map[started]bool{}, sessions: map[int]bool{}, known: map[int]started{}}
	recorded, ok, err := d.started()
	if err != nil {
		return family{}, err
	}
	if ok && recorded.mayLead() && !carriesOther(recorded.PID, found.mark) {
		found.sessions[recorded.PID] = true
		if recorded.alive() {
			found.agent = &recorded
		}
	}
	pid, err := d.lockPID()
	if err != nil {
		return family{}, err
	}
	if pid != 0 {
		held, err := d.lockHeld()
		if err != nil {
			return family{}, err
		}
		if held { // so the process is the one that wrote its pid
			holder := identify(pid)
			found.sessions[pid] = true
			found.agent = &holder
		}
	}
	// A job may leave its session. Below the living agent it is seen even so, and
	// where the agent died by the mark that it carries.
	return found, found.look()
}

// carriesOther says that a process was started for another directory: the record
// of it here is a copy. Where the environment can't be read, nothing says so.
func carriesOther(pid int, mark string) bool {
	for _, variable := range environmentOf(pid) {
		if value, is := strings.CutPrefix(variable, hostMark+"="); is {
			return value != mark
		}
	}
	return false
}

// look adds the members of the sessions, what carries the mark, and all that
// descends from what is known.
func (f *family) look() error {
	all, err := processes()
	if err != nil {
		return err
	}
	boot := bootID()
	for grown := true; grown; {
		grown = false
		for _, one := range all {
			if _, known := f.known[one.pid]; known || one.zombie || one.pid == os.Getpid() {
				continue
			}
			named := started{PID: one.pid, Begun: one.begun, Boot: boot}
			_, parentKnown := f.known[one.parent]
			if f.sessions[one.session] || parentKnown || f.carriesMark(named) {
				f.known[one.pid] = named
				grown = true
			}
		}
	}
	return nil
}

// carriesMark reads the environment that the process was started with, once for
// each process.
func (f *family) carriesMark(one started) bool {
	if f.unmarked[one] {
		return false
	}
	if slices.Contains(environmentOf(one.PID), hostMark+"="+f.mark) {
		return true
	}
	f.unmarked[one] = true
	return false
}

// awaitEnd waits until the agent has left or the grace is over, and keeps
// looking: what its jobs start now is part of the family too.
func (f *family) awaitEnd(ctx context.Context, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	err := poll(ctx, func() (bool, error) { return !f.agent.alive(), f.look() })
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // it had its time
	}
	return err
}

// kill ends all of the family, the agent first: it would begin the next job.
// It looks again until nothing is left, since a process may fork meanwhile.
func (f *family) kill(ctx context.Context) (bool, error) {
	if f.agent != nil {
		signalProcess(*f.agent, unix.SIGKILL)
	}
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	err := poll(ctx, func() (bool, error) {
		if err := f.look(); err != nil {
			return false, err
		}
		left := false
		for pid, one := range f.known {
			if !one.alive() {
				delete(f.known, pid)
				continue
			}
			left = true
			signalProcess(one, unix.SIGKILL)
		}
		return !left, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
}

// poll asks until the answer is yes, at least once.
func poll(ctx context.Context, done func() (bool, error)) error {
	ticker := time.NewTicker(stopPoll)
	defer ticker.Stop()
	for {
		if yes, err := done(); yes || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
