package conformance

import (
	"context"
	"time"

	"google.golang.org/grpc"
)

// Launcher starts the plugin under test, as often as the rules want it.
type Launcher interface {
	// Start starts the plugin afresh, as a manager that was started again does:
	// nothing but the infrastructure lasts from one start to the next. Offline
	// says that it shall have no way to a network, as far as that can be done.
	Start(ctx context.Context, offline bool) (Running, error)
	// Processes says whether each start is a process of its own.
	Processes() bool
}

// Running is a plugin that was started.
type Running interface {
	// Connection is the host's connection to it.
	Connection() grpc.ClientConnInterface
	// Stop ends it in order.
	Stop() error
	// Kill tears it off, in the middle of whatever it does, and returns when it
	// is gone. A plugin without a process ends its calls first.
	Kill()
	// Said is what it has written so far.
	Said() []Line
}

// Line is something that a plugin wrote.
type Line struct {
	// Stdout: to its standard output, apart from the handshake. Else it is a line
	// of its log.
	Stdout bool
	Text   string
}

// Orphan is a Running whose host can die.
type Orphan interface {
	Running
	// LoseHost lets go of all that a host holds of the plugin, as the death of
	// the host does, and gives what is left of the plugin when the limit is over:
	// processes of its group, its socket. Those are ended then.
	LoseHost(ctx context.Context, limit time.Duration) (left []string, err error)
}

// Trap is a Running that was started offline and notices attempts to leave.
type Trap interface {
	// Reached lists where the plugin tried to connect to.
	Reached() []string
}
