package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/query"
)

func (a *app) completionCommand() *cobra.Command {
	scripts := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
	}
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the completion script for a shell",
		Long: "Print the script with which a shell completes commands, flags, and the names of fleets, instances and " +
			"tokens. The\n" +
			"names come from the running manager, or else from the state directory. For bash, run:\n" +
			"  source <(forgeyard-fleet completion bash)\n" +
			"For zsh, fish and PowerShell, write the output to a file that the shell loads.",
		ValidArgs: shells,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE:      func(c *cobra.Command, args []string) error { return scripts[args[0]](c.Root(), a.out) },
	}
}

// names finds what may stand in one place of a command line, each with a
// description behind a tab where there is one.
type names func(ctx context.Context, look installation.Reader) ([]string, error)

func (a *app) fleetNames(ctx context.Context, look installation.Reader) ([]string, error) {
	fleets, err := look.Fleets(ctx)
	var found []string
	for _, f := range fleets {
		found = append(
			found,
			fmt.Sprintf("%s\t%d ready, %d desired, %s", f.Address.Name(), f.Counts.Ready, f.Desired, f.Health),
		)
	}
	for _, f := range fleets {
		found = append(found, fmt.Sprintf("%s\t%s", f.Address, f.Health))
	}
	return found, err
}

func (a *app) fleetAddresses(ctx context.Context, look installation.Reader) ([]string, error) {
	fleets, err := look.Fleets(ctx)
	var found []string
	for _, f := range fleets {
		found = append(found, fmt.Sprintf("%s\t%s", f.Address, f.Health))
	}
	return found, err
}

// instanceIDs are the live instances and the newest of the ended ones.
func (a *app) instanceIDs(ctx context.Context, look installation.Reader) ([]string, error) {
	page, err := look.History(ctx, query.HistoryFilter{})
	var found []string
	for _, i := range page.Instances {
		found = append(found, fmt.Sprintf("%s\t%s, %s", i.ID, i.State, render.OrDash(string(i.Fleet))))
	}
	return found, err
}

// tokenNames are those of the valid tokens.
func (a *app) tokenNames(ctx context.Context, look installation.Reader) ([]string, error) {
	tokens, err := look.Tokens(ctx)
	var found []string
	for _, t := range tokens {
		if t.Revoked.IsZero() {
			found = append(found, fmt.Sprintf("%s\t%s", t.Name, render.JoinWords(t.Permissions)))
		}
	}
	return found, err
}

// completes gives a command's one argument its live names, or a flag's value.
func (a *app) completes(c *cobra.Command, argument names, flag string, value names) {
	if argument != nil {
		c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.liveNames(c, begun, argument)
		}
	}
	if value != nil {
		// It fails for a flag that isn't there, which a test would see.
		_ = c.RegisterFlagCompletionFunc(
			flag,
			func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return a.liveNames(c, begun, value)
			},
		)
	}
}

// completionWait is how long a shell waits for names at most.
const completionWait = 2 * time.Second

// liveNames asks the manager that runs, or else reads the state directory. What
// fails completes nothing: a shell has no place for errors.
func (a *app) liveNames(c *cobra.Command, begun string, find names) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(caller(c), completionWait)
	defer cancel()
	answer := make(chan []string, 1)
	go func() { answer <- a.namesNow(ctx, c, find) }()
	var all []string
	select {
	case all = <-answer:
	case <-ctx.Done(): // whatever it hangs in ends with the process
	}
	return slices.DeleteFunc(
		all,
		func(name string) bool { return !strings.HasPrefix(name, begun) },
	), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) namesNow(ctx context.Context, c *cobra.Command, find names) (found []string) {
	options, err := a.installed(c)
	if err != nil {
		return nil
	}
	options.Log = slog.New(slog.DiscardHandler)
	_ = a.reading(ctx, options, func(look installation.Reader, _ string) (err error) {
		found, err = find(ctx, look)
		return err
	})
	return found
}

// completeFiles says where folders, files and fixed words are expected. What has
// no completion of its own is completed with files by the shell.
func (a *app) completeFiles(root *cobra.Command) {
	folders := func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, name := range []string{"dir", "state", "from"} {
			if c.LocalFlags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
			}
		}
		switch {
		case c.ValidArgsFunction != nil || len(c.ValidArgs) > 0 || c.HasSubCommands():
		case strings.HasSuffix(c.Use, "[DIR]"):
			c.ValidArgsFunction = folders
		case !strings.Contains(c.Use, "["):
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	for name, words := range map[string][]cobra.Completion{"log-level": {"debug", "info", "warn", "error"},
		"server": nil} {
		_ = root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}
