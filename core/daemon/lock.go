package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Holder says who has the writer's lock of a state directory.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d (%s), since %s", h.PID, h.Command, fleet.TimeText(h.Since))
}

// LockedError says that another manager is the writer of a state directory.
type LockedError struct {
	State  string
	Holder Holder
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("the state directory %s is in use by %s; wait until it ends, or stop it", e.State, e.Holder)
}

// writerLock is held for a manager's life: there is one writer (spec §277).
type writerLock struct {
	flock *flock.Flock
	note  string
}

// takeWriterLock takes the lock of a state directory. The kernel lets go of it
// when the process ends, however it ends. Who holds it is noted beside it, for
// people only.
func takeWriterLock(state string, h Holder) (*writerLock, error) {
	l := &writerLock{flock: flock.New(workspace.WriterLock(state)), note: filepath.Join(state, "manager.json")}
	// Held takes it for a moment, too.
	brief, cancel := context.WithTimeout(context.Background(), briefly)
	defer cancel()
	taken, err := l.flock.TryLockContext(brief, briefly/20)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("take the writer's lock: %w", err)
	}
	if !taken {
		return nil, &LockedError{State: state, Holder: readHolder(l.note)}
	}
	note, err := json.Marshal(h)
	if err == nil {
		err = os.WriteFile(l.note, note, 0o600)
	}
	if err != nil {
		_ = l.release()
		if errors.Is(err, syscall.ENOSPC) {
			return nil, fmt.Errorf("the disk of %s is full; free some space there, and try again: %w", state, err)
		}
		return nil, fmt.Errorf("note who holds the writer's lock: %w", err)
	}
	return l, nil
}

func readHolder(note string) Holder {
	var h Holder
	if b, err := os.ReadFile(note); err == nil {
		// An unreadable note costs the name of the holder and nothing else.
		_ = json.Unmarshal(b, &h)
	}
	return h
}

// briefly is how long the lock is tried for: longer than anybody looks at it.
const briefly = 400 * time.Millisecond

// Held says whether some process is the manager of a state directory, and which.
func Held(state string) (Holder, bool) {
	l := flock.New(workspace.WriterLock(state), flock.SetFlag(os.O_RDWR))
	taken, err := l.TryRLock()
	if err != nil {
		return Holder{}, false // no lock file: no manager ever ran
	}
	defer l.Close()
	if taken {
		return Holder{}, false
	}
	return readHolder(filepath.Join(state, "manager.json")), true
}

func (l *writerLock) release() error {
	_ = os.Remove(l.note)
	return l.flock.Close()
}
