package workspace

import (
	"log/slog"
	"os"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

// Options are what a command, or a manager, works with on this machine. All fields but LookupEnv are
// required.
type Options struct {
	Place Place
	// Installation may be empty where the state directory, which has a store
	// already, is to say it.
	Installation string
	// Version is of this program; agents must match its minor version.
	Version string
	// Command is what the user typed, for the message of a held lock.
	Command string
	Clock   func() time.Time
	Log     *slog.Logger
	// LookupEnv reads the environment in which secret references are resolved;
	// nil: this process's.
	LookupEnv func(string) (string, bool)
}

// Secrets finds what references of secrets name.
func (o Options) Secrets() secret.Resolver {
	if o.LookupEnv == nil {
		return secret.FromEnvironment(os.LookupEnv)
	}
	return secret.FromEnvironment(o.LookupEnv)
}
