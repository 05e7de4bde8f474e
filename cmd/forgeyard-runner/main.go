// Command forgeyard-runner is the agent on a host: it enrolls with the manager
// that its bootstrap document names, and runs the fleet's command. As
// "forgeyard-runner queue-worker" it is the worker of a forgeyard-queue instead.
//
// "forgeyard-runner join" adds an existing host to a fleet: it reads the document
// from its standard input, installs itself, and starts the agent as a service where
// that is possible.
//
// Exit codes: 0 ended as it should, or another agent already runs here; 1 failed;
// 2 invalid arguments; 3 the manager refused this host permanently, so that starting
// the agent again does not help.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/forgeyard/forgeyard-fleet/cmd/internal/version"
	"github.com/forgeyard/forgeyard-fleet/core/agent"
	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agent/metadata"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
)

// noBootstrap is for a call without what the agent needs.
const noBootstrap = `--bootstrap FILE is required; the provider of the fleet manager writes that file.
To join a machine by hand, run the line that this command prints:

  forgeyard-fleet token create --join HOST

See forgeyard-runner --help.
`

// helperArgument makes this program the helper by which the agent starts isolated
// jobs. It isn't for people, and --help doesn't have it.
const helperArgument = "as-job"

func main() {
	if len(os.Args) > 1 && os.Args[1] == helperArgument {
		os.Exit(isolation.AsJob(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with everything handed in.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	if len(args) > 0 && args[0] == "join" {
		return join(ctx, args[1:], thisHost(out, errs))
	}
	if len(args) > 0 && args[0] == "queue-worker" {
		return queueWorker(ctx, args[1:], errs)
	}
	flags := flag.NewFlagSet("forgeyard-runner", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() { fmt.Fprint(errs, usage); flags.PrintDefaults() }
	documentPath := flags.String("bootstrap", "", "bootstrap document `FILE` (required)")
	state := flags.String("state", "",
		"`DIR` for the agent's key, certificate and jobs (default: the folder of the bootstrap document)")
	lock := flags.String("lock", "", "lock `FILE`, held while the agent runs (default: lock in the state folder)")
	stay := flags.Bool("stay", false, "keep the runner registered when a signal ends the agent, for hosts that reboot")
	refusedStatus := flags.Int("refused-status", exitRefused,
		"exit `STATUS` when the manager refuses this host permanently; 0 for service managers that restart on failure")
	showVersion := flags.Bool("version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitDone
		}
		return exitUsage
	}
	if *showVersion {
		fmt.Fprintf(out, "forgeyard-runner %s %s-%s\n", version.Version, runtime.GOOS, runtime.GOARCH)
		return exitDone
	}
	switch {
	case flags.NArg() > 0:
		fmt.Fprintf(errs, "unexpected argument %q; see forgeyard-runner --help\n", flags.Arg(0))
		return exitUsage
	case *documentPath == "":
		fmt.Fprint(errs, noBootstrap)
		return exitUsage
	}
	log := slog.New(slog.NewJSONHandler(errs, nil))
	if *state == "" {
		*state = filepath.Dir(*documentPath)
	}
	document, err := bootstrap.Read(*documentPath)
	metadata, metadataErr := metadataOf(os.Getenv(metadataVariable))
	path, pathErr := filepath.Abs(*documentPath)
	if err := errors.Join(err, metadataErr, pathErr); err != nil {
		log.Error("the agent could not start", "error", err)
		return exitFailed
	}
	err = agent.Run(ctx, agent.Config{
		ManagerURL: document.ManagerURL, TLS: trust(document),
		Token: document.Token, StateDir: *state, LockFile: *lock, Version: version.Version, Logger: log,
		HostMark: os.Getenv(agent.HostMarkVariable), BootstrapFile: path, Stay: *stay, Metadata: metadata,
		// The file that runs, even where it was replaced since, and out of the way of
		// users who may not enter its folder.
		Helper: []string{"/proc/self/exe", helperArgument},
	})
	if code := exitCode(log, err); code != exitRefused {
		return code
	}
	return *refusedStatus
}

// metadataVariable names another metadata service than the platform's, on this
// host, to rehearse an interruption: "aws http://127.0.0.1:1234". It is read from
// the environment of the user who starts the agent; jobs don't have a say in that, and
// what such a service can do is what the platform's can: have this host drained.
const metadataVariable = "FORGEYARD_RUNNER_METADATA"

func metadataOf(rehearsal string) (*metadata.Service, error) {
	if rehearsal == "" {
		return metadata.Detect(), nil
	}
	m, err := metadata.Parse(rehearsal)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metadataVariable, err)
	}
	return m, nil
}

// usage is the help before the flags.
const usage = `The agent of forgeyard-fleet: enrolls this host with a fleet manager and runs its jobs.

Usage:
  forgeyard-runner --bootstrap FILE [flags]
  forgeyard-runner join [flags] < FILE      Add this existing host to a fleet
  forgeyard-runner queue-worker             Run as a worker of forgeyard-queue

Flags:
`

// trust is how the agent knows the manager of its bootstrap document, also after
// that has got another authority.
func trust(document bootstrap.Document) func(agentapi.Trust, bool) *tls.Config {
	return func(t agentapi.Trust, checkTime bool) *tls.Config {
		manager := document
		if t != (agentapi.Trust{}) {
			manager.CAFingerprint, manager.ServerName = t.CAFingerprint, t.ServerName
		}
		return bootstrap.TLSConfig(manager, checkTime)
	}
}

func exitCode(log *slog.Logger, err error) int {
	var running *agent.AlreadyRunningError
	var refused *agent.RefusedError
	switch {
	case err == nil:
		log.Info("the agent ended")
		return exitDone
	case errors.As(err, &running):
		log.Info("nothing to do", "reason", err.Error())
		return exitDone
	case errors.As(err, &refused):
		log.Error("the agent ends", "code", refused.Code, "error", err)
		return exitRefused
	}
	log.Error("the agent ends", "error", err)
	return exitFailed
}
