// Command forgeyard-queue is the reference scheduler: a small job queue in memory
// that speaks the fleet manager's contract (docs/scheduler-api.md), with what is
// needed to submit jobs to it. It isn't a CI system: it knows no repositories, no
// pipelines and no users, and what it holds ends with its process.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/internal/usage"
	"github.com/forgeyard/forgeyard-fleet/cmd/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with everything handed in.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	root := &cobra.Command{
		Use:   "forgeyard-queue",
		Short: "Reference scheduler for forgeyard-fleet: a small job queue in memory",
		Long: "forgeyard-queue is the reference scheduler: a job queue in memory that implements the\n" +
			"scheduler API of the fleet manager. It isn't a CI system: it has no repositories,\n" +
			"pipelines or users, and its jobs are lost when it stops.",
		Version: version.Version, SilenceUsage: true, SilenceErrors: true,
		Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("forgeyard-queue {{.Version}}\n")
	root.AddCommand(serveCommand(), submitCommand(), jobsCommand(), logCommand(), cancelCommand())
	usage.Explain(root, usage.Hints{})
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(errs, "forgeyard-queue: %v\n", err)
		return 1
	}
	return 0
}
