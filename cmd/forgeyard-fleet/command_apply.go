package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/control"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	variables   variableFlags
	autoApprove bool
	prune       bool
	wait        time.Duration
}

func (a *app) applyCommand() *cobra.Command {
	var flags applyFlags
	c := &cobra.Command{
		Use:   "apply [DIR]",
		Short: "Make the fleets be what the files say",
		Long: "Store the definition of the fleet files and wait until every instance is where it should be.\n" +
			"Where a manager runs (serve), it does the work and goes on with it. Otherwise this process is the\n" +
			"manager for as long as it runs: afterwards the instances go on running, but nothing scales, renews or\n" +
			"removes them until the next apply.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if flags.wait <= 0 {
				return fmt.Errorf("--wait %s: give a positive duration such as 10m", flags.wait)
			}
			return a.apply(c, args, flags)
		},
	}
	flags.variables.register(c.Flags())
	c.Flags().BoolVar(&flags.autoApprove, "auto-approve", false, "don't ask before applying")
	c.Flags().BoolVar(&flags.prune, "prune", false, "take away the fleets that the files don't mention; they drain first")
	c.Flags().DurationVar(&flags.wait, "wait", 30*time.Minute, "how long to wait until everything is where it should be")
	return c
}

// apply plans, asks, applies and watches.
func (a *app) apply(c *cobra.Command, args []string, flags applyFlags) (err error) {
	w, submission, err := a.submission(args, flags.variables, flags.prune)
	if err != nil {
		return err
	}
	options, err := a.options(w, c.CommandPath())
	if err != nil {
		return err
	}
	ctx := caller(c)
	service, err := a.writer(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.close()) }()
	plan, err := service.Plan(ctx, submission)
	if err != nil {
		return err
	}
	if err := a.report(plan.Warnings); err != nil {
		return err
	}
	a.renderPlan(plan)
	if plan.HasChanges() && !flags.autoApprove {
		yes, err := a.confirm(ctx, "Apply this?")
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
	if service.embedded != nil {
		return a.applyHere(ctx, service.embedded, submission, plan, flags.wait)
	}
	receipt, err := service.Apply(ctx, submission, plan.Approval)
	if err != nil {
		return err
	}
	return a.await(ctx, service, receipt, flags.wait, true)
}

// applyHere is the manager for as long as the apply takes.
func (a *app) applyHere(ctx context.Context, m *control.Manager, s control.Submission, plan control.Plan, wait time.Duration) error {
	// The port must be ours before anything is stored that names it.
	listener, err := m.Listen(ctx, plan.Manager())
	if err != nil {
		return err
	}
	receipt, err := m.Apply(ctx, s, plan.Approval)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := m.Start(ctx, listener); err != nil {
		return err
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := m.Failed()
	go func() {
		select {
		case <-failed:
			cancel()
		case <-watching.Done():
		}
	}()
	err = a.await(watching, m, receipt, wait, false)
	if stopped := m.Stop(a.hurry); stopped != nil {
		return stopped
	}
	return err
}

// await shows progress until the apply has come to its end.
func (a *app) await(ctx context.Context, s control.Service, receipt control.Receipt, wait time.Duration, daemon bool) error {
	progress := a.newProgress()
	outcome, err := control.Await(ctx, s, receipt.Serial, wait, progress.observe)
	progress.end()
	if err != nil {
		return err
	}
	return a.renderOutcome(outcome, wait, daemon)
}
