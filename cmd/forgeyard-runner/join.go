package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent"
	"github.com/forgeyard/forgeyard-fleet/core/agent/lockfile"
	"github.com/forgeyard/forgeyard-fleet/core/replacefile"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

// homeVariable overrides where the agent of a joined host lives.
const homeVariable = "FORGEYARD_RUNNER_HOME"

// joiner is everything that join takes from the host.
type joiner struct {
	in        io.Reader
	out, errs io.Writer
	// folder is where the agent lives.
	folder string
	// self is this program's file.
	self string
	// service starts the agent through the host's service manager; nil: there is
	// none, or not for this user.
	service func(ctx context.Context, folder string) (logs string, err error)
	// patience is how long the previous agent may take to end, and the new one to
	// enroll.
	patience time.Duration
}

func thisHost(out, errs io.Writer) joiner {
	j := joiner{
		in:       os.Stdin,
		out:      out,
		errs:     errs,
		service:  serviceOf(runtime.GOOS, os.Geteuid()),
		patience: 30 * time.Second,
	}
	// join asks for what can't be found out here.
	j.folder, _ = homeOf(os.Geteuid(), os.Getenv)
	j.self, _ = os.Executable()
	return j
}

// homeOf is the folder of a joined host's agent.
func homeOf(uid int, getenv func(string) string) (string, error) {
	state := getenv("XDG_STATE_HOME")
	if state == "" && getenv("HOME") != "" {
		state = filepath.Join(getenv("HOME"), ".local", "state")
	}
	switch {
	case getenv(homeVariable) != "":
		return filepath.Abs(getenv(homeVariable))
	case uid == 0:
		return "/opt/forgeyard-runner", nil
	case filepath.IsAbs(state):
		return filepath.Join(state, "forgeyard-runner"), nil
	}
	return "", fmt.Errorf("HOME is not set; set it, or %s", homeVariable)
}

// The files of a joined host.
func binaryIn(folder string) string   { return filepath.Join(folder, "forgeyard-runner") }
func documentIn(folder string) string { return filepath.Join(folder, "bootstrap.json") }
func stateIn(folder string) string    { return filepath.Join(folder, "agent") }
func lockIn(folder string) string     { return filepath.Join(folder, "agent", "lock") }
func logIn(folder string) string      { return filepath.Join(folder, "agent.log") }

// agentArguments start the agent of a joined host: it is expected back after a
// signal, since a host that reboots is the same host.
func agentArguments(folder string) []string {
	return []string{"--bootstrap", documentIn(folder), "--state", stateIn(folder), "--stay"}
}

// joinUsage is the help of join before the flags.
const joinUsage = `Add this host to a fleet: install the agent and start it as a service where possible.
The bootstrap document is read from standard input.

Usage:
  forgeyard-runner join [flags] < FILE

The fleet manager prints the whole command:
  forgeyard-fleet token create --join HOST

Flags:
`

const joinHint = "forgeyard-runner join takes no arguments and reads the bootstrap document from standard input. " +
	"--home DIR is required where neither HOME nor " + homeVariable + " is set. " +
	"The fleet manager prints the whole command:\n  forgeyard-fleet token create --join HOST"

// join installs and starts the agent for the document on standard input. Doing it
// again with the same document changes nothing, and starts the agent where it has
// ended.
func join(ctx context.Context, args []string, j joiner) int {
	flags := flag.NewFlagSet("forgeyard-runner join", flag.ContinueOnError)
	flags.SetOutput(j.errs)
	flags.Usage = func() { fmt.Fprint(j.errs, joinUsage); flags.PrintDefaults() }
	foreground := flags.Bool("foreground", false, "run the agent in the foreground instead of starting a service")
	flags.StringVar(
		&j.folder,
		"home",
		j.folder,
		"`DIR` of the agent (default: "+homeVariable+
			", else /opt/forgeyard-runner for root, else forgeyard-runner in ~/.local/state)",
	)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitDone
		}
		return exitUsage
	}
	if flags.NArg() > 0 || j.folder == "" || j.self == "" {
		fmt.Fprintln(j.errs, joinHint)
		return exitUsage
	}
	document, err := readDocument(j.in)
	if err != nil {
		fmt.Fprintf(j.errs, "This host could not be joined: %v\n", err)
		return exitUsage
	}
	runs, err := j.install(ctx, document)
	switch {
	case err != nil:
		fmt.Fprintf(j.errs, "This host could not be joined: %v\n", err)
		return exitFailed
	case runs != "":
		fmt.Fprintf(j.out, "The agent of this command is already running (process %s); nothing to do.\n", runs)
		return exitDone
	case *foreground:
		fmt.Fprintf(
			j.out,
			"The agent runs in the foreground. Press Ctrl-C to stop it; run the same command to start it again.\n",
		)
		return run(ctx, agentArguments(j.folder), j.out, j.errs)
	}
	return j.startAndWait(ctx, document)
}

// maxDocument is far above any document.
const maxDocument = 64 << 10

func readDocument(in io.Reader) (bootstrap.Document, error) {
	content, err := io.ReadAll(io.LimitReader(in, maxDocument))
	if err != nil {
		return bootstrap.Document{}, fmt.Errorf("read the bootstrap document: %w", err)
	}
	return bootstrap.Parse(content)
}

// install puts program and document in their places, unless the agent of this
// very document runs already: then it tells its process.
func (j joiner) install(ctx context.Context, document bootstrap.Document) (runs string, err error) {
	if err := os.MkdirAll(stateIn(j.folder), 0o700); err != nil {
		return "", fmt.Errorf("make the agent's folder: %w", err)
	}
	pid, running := lockfile.Holder(lockIn(j.folder))
	if there, err := bootstrap.Read(documentIn(j.folder)); running && err == nil && there == document {
		return pid, nil
	}
	// One whose host was released ends by itself within a few heartbeats.
	if running && !j.until(ctx, func() bool { _, still := lockfile.Holder(lockIn(j.folder)); return !still }) {
		return "", fmt.Errorf(
			"another agent is running here (process %s, in %s): if its host was released, it ends by itself within a minute, "+
				"so try again; otherwise release that host first",
			pid,
			j.folder,
		)
	}
	if err := installBinary(j.self, binaryIn(j.folder)); err != nil {
		return "", fmt.Errorf("install the agent: %w", err)
	}
	return "", document.Write(documentIn(j.folder))
}

// installBinary copies the program, whole or not at all.
func installBinary(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	if a, err := source.Stat(); err == nil {
		if b, err := os.Stat(to); err == nil && os.SameFile(a, b) {
			return nil
		}
	}
	staged, err := replacefile.Stage(to, filepath.Dir(to), source, 0o755)
	if err != nil {
		return err
	}
	return errors.Join(staged.Replace(), staged.Discard())
}

// startAndWait starts the agent and waits until it has enrolled, was refused, or
// patience is over: then it keeps trying by itself.
func (j joiner) startAndWait(ctx context.Context, document bootstrap.Document) int {
	// An agent that has enrolled before has nothing to wait for but an early end.
	before, again := agent.Enrolled(stateIn(j.folder), document.Token)
	logs, ended, err := j.start(ctx)
	if err != nil {
		fmt.Fprintf(j.errs, "The agent could not be started: %v\n", err)
		return exitFailed
	}
	code, gone, runner := 0, false, before
	if again {
		j.patience = min(j.patience, soonEnded)
	}
	over := j.until(ctx, func() bool {
		select {
		case code = <-ended:
			gone = true
			return true
		default:
		}
		if again {
			return false
		}
		var enrolled bool
		runner, enrolled = agent.Enrolled(stateIn(j.folder), document.Token)
		return enrolled
	})
	switch {
	case gone:
		fmt.Fprintf(j.errs, "The agent ended with status %d. See its log: %s\n", code, logs)
		return max(code, exitFailed)
	case again:
		fmt.Fprintf(j.out, "The agent is running again as runner %s.\n", runner)
	case over:
		fmt.Fprintf(j.out, "This host is enrolled as runner %s.\n", runner)
	default:
		fmt.Fprintf(j.out, "The agent has not enrolled yet and keeps trying. See its log: %s\n", logs)
	}
	return exitDone
}

// soonEnded is how soon an agent that enrolled before hears that it is refused.
const soonEnded = 3 * time.Second

// start hands the agent to the service manager, or else starts it in the background. ended
// gets the exit status of the latter.
func (j joiner) start(ctx context.Context) (logs string, ended <-chan int, err error) {
	if j.service != nil {
		logs, err = j.service(ctx, j.folder)
		if err == nil {
			fmt.Fprintf(j.out, "The agent runs as a service and starts again after a reboot. Log: %s\n", logs)
		}
		return logs, nil, err
	}
	ended, pid, err := startInBackground(j.folder)
	if err == nil {
		fmt.Fprintf(
			j.out,
			"The agent runs in the background (process %d), not as a service: after a reboot, run the command again. Log: %s\n",
			pid,
			logIn(j.folder),
		)
	}
	return logIn(j.folder), ended, err
}

// until polls a condition until it holds, or patience is over.
func (j joiner) until(ctx context.Context, condition func() bool) bool {
	limit := time.NewTimer(j.patience)
	defer limit.Stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for !condition() {
		select {
		case <-again.C:
		case <-limit.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}
