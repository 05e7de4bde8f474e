package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/cmd/internal/usage"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Exit codes.
const (
	exitDone        = 0
	exitError       = 1
	exitChanges     = 2 // plan --detailed-exitcode
	exitUnresolved  = 3 // stored, but something is still in progress or unknown
	exitDeclined    = 4
	exitInterrupted = 130
)

// app is the command line with everything it takes from outside.
type app struct {
	in          io.Reader
	out, err    io.Writer
	inTerminal  bool
	outTerminal bool
	errTerminal bool
	// width is how many columns the terminal of out has; nil: it isn't known.
	width     func() int
	lookupEnv func(string) (string, bool)
	environ   func() []string
	now       func() time.Time
	version   string
	// hurry is closed when the user no longer wants to wait for answers.
	hurry <-chan struct{}

	flags globalFlags
}

// globalFlags are those of every command.
type globalFlags struct {
	dir      string
	state    string
	server   string
	logLevel string
}

// exitStatus ends a command with a code after everything has been said.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// run carries out one command line and returns the exit code. An error is
// printed here and nowhere else.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	err = asTyped(c, err)
	code := exitCode(ctx, err)
	var (
		status exitStatus
		found  config.Diagnostics
	)
	switch {
	case err == nil || errors.As(err, &status): // everything has been said
	case code == exitInterrupted:
		fmt.Fprintln(a.err, "Interrupted.")
	case errors.As(err, &found):
		_ = found.Render(a.err, a.color()) // there is nowhere else to say it
	default:
		fmt.Fprintf(a.err, "Error: %s\n", terminal.Printable(err.Error()))
	}
	return code
}

// exitCode is how a command that returned err ends.
func exitCode(ctx context.Context, err error) int {
	var status exitStatus
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitError
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "forgeyard-fleet",
		Short:         "Run fleets of CI runners on any infrastructure",
		Version:       a.version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate("forgeyard-fleet {{.Version}}\n")
	root.PersistentFlags().
		StringVar(&a.flags.dir, "dir", "",
			"directory of the fleet files (default: current directory); same as the argument DIR of some commands")
	root.PersistentFlags().
		StringVar(&a.flags.state, "state", "",
			"state directory (default: FLEET_STATE_DIR, otherwise a directory named after the installation)")
	root.PersistentFlags().
		StringVar(&a.flags.server, "server", "",
			"URL of a remote manager; FLEET_TOKEN is its API token, FLEET_SERVER_CA the fingerprint of its authority")
	root.PersistentFlags().
		StringVar(&a.flags.logLevel, "log-level", "error",
			"minimum level of log messages on standard error: debug, info, warn or error; serve defaults to info")
	a.addCommands(root)
	a.completeFiles(root)
	usage.Explain(root, terraformHints)
	return root
}

// color says whether to colour output for people.
func (a *app) color() bool {
	if !a.outTerminal {
		return false
	}
	_, never := a.lookupEnv("NO_COLOR")
	return !never
}

// log is the logger of the flags.
func (a *app) log() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.flags.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %q: unknown value; valid: debug, info, warn, error", a.flags.logLevel)
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level})), nil
}

// options are how control opens the installation of a workspace.
func (a *app) options(w workspace.Workspace, command string) (workspace.Options, error) {
	return a.optionsFor(w.Requirements.Installation, command)
}

func (a *app) optionsFor(installation, command string) (workspace.Options, error) {
	log, err := a.log()
	if err != nil {
		return workspace.Options{}, err
	}
	place, err := workspace.FindPlace(a.flags.state, installation, a.lookupEnv)
	if err != nil {
		return workspace.Options{}, err
	}
	return workspace.Options{
		Place: place, Installation: installation, Version: a.version, Command: command, Clock: a.now, Log: log,
	}, nil
}

// page is where the command shows things to people.
func (a *app) page() render.Page {
	return render.Page{
		Out: a.out, Now: a.now, Terminal: a.outTerminal, Color: a.color(), Width: a.width, Dir: a.flags.dir,
	}
}

// printf shows text to people, without what steers a terminal.
func (a *app) printf(format string, args ...any) { a.page().Printf(format, args...) }

// printJSON writes one value for programs.
func (a *app) printJSON(v any) error { return a.page().JSON(v) }

// confirm asks a question; only "yes" confirms.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	return terminal.Prompt{In: a.in, Out: a.out, Terminal: a.inTerminal}.Confirm(ctx, question)
}

// workspace reads the fleet files of the directory argument.
func (a *app) workspace(args []string) (workspace.Workspace, error) {
	dir, err := a.directory(args)
	if err != nil {
		return workspace.Workspace{}, err
	}
	plugins, err := workspace.PluginDirectory(a.lookupEnv)
	if err != nil {
		return workspace.Workspace{}, err
	}
	return workspace.Read(dir, plugins, a.version)
}

// directory is the optional DIR argument, or what --dir says.
func (a *app) directory(args []string) (string, error) {
	switch {
	case len(args) > 0 && a.flags.dir != "" && filepath.Clean(args[0]) != filepath.Clean(a.flags.dir):
		return "", fmt.Errorf("DIR %s and --dir %s name different directories; give only one of them", args[0], a.flags.dir)
	case len(args) > 0:
		return args[0], nil
	case a.flags.dir != "":
		return a.flags.dir, nil
	}
	return ".", nil
}
