package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/replay"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// simulateFlags are those of simulate.
type simulateFlags struct {
	trace, compare       string
	from, until          string
	boot, step, relaunch time.Duration
	variables            variableFlags
	asJSON               bool
}

func (a *app) simulateCommand() *cobra.Command {
	var f simulateFlags
	c := &cobra.Command{
		Use:   "simulate [DIR] --trace FILE",
		Short: "Replay past jobs against the fleet files to see waiting times and cost",
		Long: "Replay past jobs against the fleet files, with the real planner in virtual time, to see how long the " +
			"jobs would\n" +
			"have waited for an instance and what the instances would have cost. FILE is CSV with a header; docs/simulate.md\n" +
			"lists its columns and the limits of the model. Nothing is started or changed, and no plugin is launched.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := a.directory(args)
			if err != nil {
				return err
			}
			dirs := []string{dir}
			if f.compare != "" {
				dirs = append(dirs, f.compare)
			}
			var outcomes []render.Simulated
			for _, dir := range dirs {
				result, err := a.simulate(c.Context(), dir, f)
				if err != nil {
					return err
				}
				outcomes = append(outcomes, render.Simulated{Directory: dir, Result: result})
			}
			return a.page().Simulated(outcomes, f.asJSON)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.trace, "trace", "", "CSV `FILE` with the jobs (required)")
	flags.StringVar(&f.compare, "compare", "", "replay the same jobs against the fleet files in `DIR` and compare")
	flags.StringVar(
		&f.from,
		"from",
		"",
		"replay the jobs that arrive from this `TIME` on, for example 2026-10-05T00:00:00Z (default: the first)",
	)
	flags.StringVar(&f.until, "until", "", "replay the jobs that arrive before this `TIME` (default: the last)")
	flags.DurationVar(&f.boot, "boot", replay.DefaultBoot, "time from the launch of an instance to its first job")
	flags.DurationVar(&f.step, "step", replay.DefaultStep, "shortest time between two runs of the planner")
	flags.DurationVar(
		&f.relaunch,
		"relaunch",
		replay.DefaultRelaunch,
		"a launch counts as a relaunch within this time after an instance was removed",
	)
	flags.BoolVar(&f.asJSON, "json", false, "print JSON: all results with their time series")
	f.variables.register(flags)
	return c
}

// simulate replays the trace against the fleet files of one directory.
func (a *app) simulate(ctx context.Context, dir string, f simulateFlags) (*replay.Result, error) {
	settings, err := f.settings()
	if err != nil {
		return nil, err
	}
	definition, err := a.definitionOf(dir, f.variables)
	if err != nil {
		return nil, err
	}
	settings.Fleets, settings.Reservations = replay.Fleets(definition), definition.Reservations
	settings.Allowed = definition.Policy
	schedulers := replay.Schedulers(definition)
	if len(schedulers) == 0 {
		return nil, fmt.Errorf(
			"no fleet in %s has a scheduler, so no job would reach it; set scheduler in a fleet block",
			dir,
		)
	}
	trace, err := readTrace(ctx, f.trace, schedulers)
	if err != nil {
		return nil, err
	}
	shown := &terminal.Replaying{Out: a.err, Now: a.now, Directory: dir, Silent: !a.errTerminal}
	settings.Progress = shown.Observe
	defer shown.Clear()
	return replay.Run(ctx, settings, trace)
}

// settings are the flags as a replay takes them.
func (f simulateFlags) settings() (replay.Settings, error) {
	s := replay.Settings{Boot: f.boot, Step: f.step, Relaunch: f.relaunch}
	const longest = 24 * time.Hour
	switch {
	case f.trace == "":
		return s, errors.New("--trace FILE is required: a CSV file with the jobs; docs/simulate.md shows how to export it")
	case f.boot < 0 || f.boot > longest:
		return s, fmt.Errorf("--boot %s: must be 0 ≤ boot ≤ %s", f.boot, hours(longest))
	case f.step < time.Second || f.step > time.Hour:
		return s, fmt.Errorf("--step %s: must be 1s ≤ step ≤ 1h", f.step)
	case f.relaunch < 0 || f.relaunch > longest:
		return s, fmt.Errorf("--relaunch %s: must be 0 ≤ relaunch ≤ %s", f.relaunch, hours(longest))
	}
	for _, one := range []struct {
		flag, text string
		into       *time.Time
	}{{"from", f.from, &s.From}, {"until", f.until, &s.Until}} {
		if one.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, one.text)
		if err != nil {
			return s, fmt.Errorf(
				"--%s %q: invalid time; give date, time and zone, for example 2026-10-05T00:00:00Z",
				one.flag,
				one.text,
			)
		}
		*one.into = at
	}
	if !s.From.IsZero() && !s.Until.IsZero() && !s.From.Before(s.Until) {
		return s, fmt.Errorf("--from %s must be before --until %s", f.from, f.until)
	}
	return s, nil
}

// definitionOf loads the fleet files of a directory, as validate does.
func (a *app) definitionOf(dir string, variables variableFlags) (fleet.Definition, error) {
	plugins, err := workspace.PluginDirectory(a.lookupEnv)
	if err != nil {
		return fleet.Definition{}, err
	}
	w, err := workspace.Read(dir, plugins, a.version)
	if err != nil {
		return fleet.Definition{}, err
	}
	given, err := a.values(variables)
	if err != nil {
		return fleet.Definition{}, err
	}
	loaded, found := w.Load(given)
	if err := a.report(found); err != nil {
		return fleet.Definition{}, err
	}
	return loaded.Definition, nil
}

func readTrace(ctx context.Context, path string, schedulers []fleet.Scheduler) (*replay.Trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the trace: %w", err)
	}
	defer file.Close()
	return replay.ReadTrace(path, untilDone{ctx, file}, schedulers)
}

// untilDone is a reader that ends with its context.
type untilDone struct {
	ctx  context.Context
	from io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.from.Read(p)
}
