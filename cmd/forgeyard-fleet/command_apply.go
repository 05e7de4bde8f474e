package main

import (
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/control"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	variables   variableFlags
	autoApprove bool
	wait        time.Duration
}

func (a *app) applyCommand() *cobra.Command {
	var flags applyFlags
	c := &cobra.Command{
		Use:   "apply [DIR]",
		Short: "Make the fleets be what the files say",
		Long: "Store the definition of the fleet files and reconcile until every instance is where it should be.\n" +
			"This process takes the agents' calls as long as it runs. Afterwards the instances go on running, but\n" +
			"nothing scales, renews or removes them until the next apply.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if flags.wait <= 0 {
				return fmt.Errorf("--wait %s: give a positive duration such as 10m", flags.wait)
			}
			w, err := a.workspace(args)
			if err != nil {
				return err
			}
			loaded, err := a.load(w, flags.variables)
			if err != nil {
				return err
			}
			return a.apply(c, w, loaded, flags)
		},
	}
	flags.variables.register(c.Flags())
	c.Flags().BoolVar(&flags.autoApprove, "auto-approve", false, "don't ask before applying")
	c.Flags().DurationVar(&flags.wait, "wait", 30*time.Minute, "how long to wait until everything is where it should be")
	return c
}

// apply holds the writer's lock from the plan to the end.
func (a *app) apply(c *cobra.Command, w control.Workspace, loaded *config.Loaded, flags applyFlags) (err error) {
	options, err := a.options(w, c.CommandPath())
	if err != nil {
		return err
	}
	manager, err := control.Open(c.Context(), options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, manager.Close()) }()
	if err := a.validateWithPlugins(c, w, loaded); err != nil {
		return err
	}
	plan, err := manager.Plan(c.Context(), loaded.Definition)
	if err != nil {
		return err
	}
	a.renderPlan(plan)
	if plan.HasChanges() && !flags.autoApprove {
		yes, err := a.confirm(c.Context(), "Apply this?")
		if err != nil || !yes {
			a.printf("Nothing was applied.\n")
		}
		if err != nil {
			return err
		}
		if !yes {
			return exitStatus(exitDeclined)
		}
	}
	// The port must be ours before anything is stored that names it.
	listener, err := manager.Listen(c.Context(), loaded.Definition.Manager)
	if err != nil {
		return err
	}
	if _, err := manager.Apply(c.Context(), plan, whoami()); err != nil {
		return errors.Join(err, listener.Close())
	}
	progress := a.newProgress()
	outcome, err := manager.RunUntilSettled(c.Context(), control.Running{
		Workspace: w, Listener: listener, Observe: progress.observe, Hurry: a.hurry,
	}, flags.wait)
	progress.end()
	if err != nil {
		return err
	}
	return a.renderOutcome(outcome, flags.wait)
}

// whoami is the user's name, for whoever later asks who applied what.
func whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}
