package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/core/daemon"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	variables   variableFlags
	autoApprove bool
	prune       bool
	asJSON      bool
	wait        time.Duration
}

func (a *app) applyCommand() *cobra.Command {
	var flags applyFlags
	c := &cobra.Command{
		Use:   "apply [DIR | PLANFILE]",
		Short: "Apply the configuration, or a saved plan",
		Long: "Store the definition in the fleet files and wait until the fleets match it. A plan that plan " +
			"--out saved is\n" +
			"applied exactly as it was shown, once; apply refuses it if something that it changes has changed since.\n" +
			"If a manager is running (serve), it does the work and continues after this command. Otherwise this process is\n" +
			"the manager until it ends: the instances keep running afterwards, but nothing scales, renews or removes them\n" +
			"until serve or the next apply.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !flags.asJSON {
				return a.apply(c, args, flags, &applyWords{app: a, wait: flags.wait})
			}
			lines := newApplyLines(a)
			return lines.sumUp(c.Context(), a.apply(c, args, flags, lines))
		},
	}
	flags.variables.register(c.Flags())
	c.Flags().BoolVar(&flags.autoApprove, "auto-approve", false, "don't ask for confirmation")
	c.Flags().BoolVar(&flags.prune, "prune", false, "remove the fleets that the files don't mention, after draining them")
	c.Flags().
		BoolVar(&flags.asJSON, "json", false,
			"print events as lines of JSON; requires --auto-approve if the plan has changes")
	c.Flags().DurationVar(&flags.wait, "wait", 30*time.Minute, "how long to wait until the fleets match")
	return c
}

// applyReport tells what happens during an apply.
type applyReport interface {
	// planned tells what would be done, with the warnings about it.
	planned(plans.Plan) error
	applied(plans.Receipt)
	observe(progress.Progress)
	// watched ends what observe began, however that came.
	watched()
	// ended tells how the wait ended; its error is the command's exit status.
	ended(o progress.Outcome, daemon bool) error
}

// applyTask is what is to be applied: files, or a saved plan of them.
type applyTask struct {
	submission plans.Submission
	options    workspace.Options
	saved      *plans.SavedPlan // nil: files
}

// applyTask reads the argument of apply.
func (a *app) applyTask(c *cobra.Command, args []string, flags applyFlags) (applyTask, error) {
	if !isPlanFile(args) {
		w, submission, err := a.submission(args, flags.variables, flags.prune)
		if err != nil {
			return applyTask{}, err
		}
		options, err := a.options(w, c.CommandPath())
		return applyTask{submission: submission, options: options}, err
	}
	if flags.prune {
		return applyTask{}, errors.New("--prune can't be combined with a saved plan; run plan again with --prune")
	}
	saved, err := plans.ReadFile(args[0])
	if err != nil {
		return applyTask{}, err
	}
	given, err := a.values(flags.variables)
	if err != nil {
		return applyTask{}, err
	}
	submission, err := saved.SubmissionWith(given)
	if err != nil {
		return applyTask{}, fmt.Errorf("apply the plan %s: %w", args[0], err)
	}
	options, err := a.optionsFor(saved.Plan.Installation, c.CommandPath())
	return applyTask{submission: submission, options: options, saved: &saved}, err
}

// plan is what is approved: what was saved, unless it can't be applied any more, or a
// plan of the files now.
func (t applyTask) plan(ctx context.Context, s installation.Service) (plans.Plan, error) {
	if t.saved == nil {
		return s.Plan(ctx, t.submission)
	}
	still := t.submission
	still.Approved = &t.saved.Plan.Approval
	_, err := s.Plan(ctx, still)
	return t.saved.Plan, err
}

// apply plans, asks, applies and watches.
func (a *app) apply(c *cobra.Command, args []string, flags applyFlags, report applyReport) (err error) {
	if flags.wait <= 0 {
		return fmt.Errorf("--wait %s: must be a positive duration, for example 10m", flags.wait)
	}
	task, err := a.applyTask(c, args, flags)
	if err != nil {
		return err
	}
	ctx := caller(c)
	service, err := a.writer(ctx, task.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.close()) }()
	a.tellVersion(service)
	plan, err := task.plan(ctx, service)
	if err != nil {
		return err
	}
	if err := report.planned(plan); err != nil {
		return err
	}
	if plan.HasChanges() && !flags.autoApprove {
		if err := a.approve(ctx, flags); err != nil {
			return err
		}
	}
	if service.embedded != nil {
		return a.applyHere(ctx, service.embedded, task, plan, flags.wait, report)
	}
	receipt, err := service.Apply(ctx, task.submission, plan.Approval)
	if err != nil {
		return err
	}
	report.applied(receipt)
	return await(ctx, service, receipt, flags.wait, true, report)
}

// approve asks whether to go on. Without a yes the error says how that ended.
func (a *app) approve(ctx context.Context, flags applyFlags) error {
	if flags.asJSON {
		return errors.New(
			"--json can't ask for confirmation; review the plan first (plan --out FILE, show FILE), then pass --auto-approve",
		)
	}
	yes, err := a.confirm(ctx, "Apply?")
	if yes && err == nil {
		return nil
	}
	a.printf("Nothing was applied.\n")
	if err != nil {
		return err
	}
	return exitStatus(exitDeclined)
}

// applyHere is the manager for as long as the apply takes.
func (a *app) applyHere(
	ctx context.Context,
	m *daemon.Daemon,
	task applyTask,
	plan plans.Plan,
	wait time.Duration,
	report applyReport,
) error {
	// The port must be ours before anything is stored that names it.
	settings := plan.Manager()
	if task.saved != nil { // a plan file holds files, and not what becomes of them
		fresh, err := m.Plan(ctx, task.submission)
		if err != nil {
			return err
		}
		settings = fresh.Manager()
	}
	listener, err := m.Listen(ctx, settings)
	if err != nil {
		return err
	}
	receipt, err := m.Apply(ctx, task.submission, plan.Approval)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	report.applied(receipt)
	return a.manage(ctx, m, listener, func(watching context.Context) error {
		return await(watching, m, receipt, wait, false, report)
	})
}

// manage makes this process the manager for as long as a command takes, which ends
// early where the manager can't go on.
func (a *app) manage(
	ctx context.Context,
	m *daemon.Daemon,
	listener net.Listener,
	do func(context.Context) error,
) error {
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
	err := do(watching)
	if stopped := m.Stop(a.hurry); stopped != nil {
		return stopped
	}
	return err
}

// await shows progress until the apply has come to its end.
func await(
	ctx context.Context,
	s installation.Service,
	receipt plans.Receipt,
	wait time.Duration,
	daemon bool,
	report applyReport,
) error {
	outcome, err := progress.Await(ctx, s, receipt.Serial, wait, report.observe)
	report.watched()
	if err != nil {
		return err
	}
	return report.ended(outcome, daemon)
}

// applyWords is an apply in words for people.
type applyWords struct {
	app      *app
	wait     time.Duration
	progress *render.ProgressLines
}

func (w *applyWords) planned(p plans.Plan) error {
	if err := w.app.report(p.Warnings); err != nil {
		return err
	}
	w.app.page().Plan(p)
	return nil
}

func (w *applyWords) applied(plans.Receipt) { w.progress = w.app.page().NewProgressLines() }

func (w *applyWords) observe(p progress.Progress) { w.progress.Observe(p) }

func (w *applyWords) watched() { w.progress.End() }

func (w *applyWords) ended(o progress.Outcome, daemon bool) error {
	w.app.page().Outcome(o, w.wait, daemon)
	return statusOf(o.Ending)
}

// statusOf is how a command ends whose apply ended like that.
func statusOf(ending progress.Ending) error {
	switch ending {
	case progress.Settled:
		return nil
	case progress.Interrupted:
		return exitStatus(exitInterrupted)
	}
	return exitStatus(exitUnresolved)
}
