package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
)

func (a *app) pluginTestCommand() *cobra.Command {
	var file string
	var create, asJSON bool
	c := &cobra.Command{
		Use:   "test BINARY --config FILE",
		Short: "Test a plugin against the plugin contract",
		Long: "Start a built plugin, written in any language, and check every rule of the contract over the wire. " +
			"FILE has a\n" +
			"provider block, an instance block and a test block. Without --allow-create only rules that create nothing are\n" +
			"checked. With it the rules create about a dozen instances, at most three at once, in a separate " +
			"installation, and\n" +
			"remove them. The exit code is 1 if the plugin breaks a rule.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if file == "" {
				return errors.New("--config FILE is required: a file with the provider block to test with")
			}
			return a.testPlugin(c.Context(), args[0], file, create, asJSON)
		},
	}
	c.Flags().StringVar(&file, "config", "", "file with the provider, instance and test blocks")
	c.Flags().BoolVar(&create, "allow-create", false, "let the rules create and remove instances")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: each rule with its result")
	return c
}

// pluginReport is the result for programs.
type pluginReport struct {
	Plugin  string               `json:"plugin"`
	Version string               `json:"version"`
	Passed  int                  `json:"passed"`
	Failed  int                  `json:"failed"`
	Skipped int                  `json:"skipped"`
	Results []conformance.Result `json:"results"`
}

func (r *pluginReport) add(result conformance.Result) {
	r.Results = append(r.Results, result)
	switch result.Verdict {
	case conformance.Pass:
		r.Passed++
	case conformance.Fail:
		r.Failed++
	case conformance.Skip:
		r.Skipped++
	}
}

func (a *app) testPlugin(ctx context.Context, binary, file string, create, asJSON bool) (err error) {
	bench, err := newPluginBench(binary, a.lookupEnv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bench.close()) }()
	info, err := bench.describe(ctx)
	if err != nil {
		return err
	}
	options, err := a.testOptions(ctx, bench, info, file)
	if err != nil {
		return err
	}
	options.AllowCreate = create
	report := pluginReport{Plugin: info.Schemas.Name, Version: info.Schemas.Version}
	err = conformance.Run(ctx, bench, options, func(result conformance.Result) {
		report.add(result)
		if asJSON {
			return
		}
		a.printf("%s  %-22s %s\n", result.Verdict, result.Rule, result.Says)
		if result.Reason != "" {
			a.printf("      %s\n", strings.ReplaceAll(result.Reason, "\n", "\n      "))
		}
	})
	if err != nil {
		return err
	}
	if asJSON {
		err = a.printJSON(report)
	} else {
		a.printf(
			"\nPlugin %s %s: %d passed, %d failed, %d skipped.\n",
			report.Plugin,
			report.Version,
			report.Passed,
			report.Failed,
			report.Skipped,
		)
		if !create {
			a.printf("Rules that create instances were skipped; pass --allow-create to check them.\n")
		}
	}
	if err == nil && report.Failed > 0 {
		return exitStatus(exitError)
	}
	return err
}

// testOptions reads the file of the test, with the secrets that it refers to.
func (a *app) testOptions(
	ctx context.Context,
	bench *pluginBench,
	info pluginhost.Info,
	file string,
) (conformance.Options, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return conformance.Options{}, fmt.Errorf("read the test configuration: %w", err)
	}
	test, found := config.LoadPluginTest(config.Source{Name: file, Bytes: content}, info.Schemas)
	if err := a.report(found); err != nil {
		return conformance.Options{}, err
	}
	provider, err := secret.FromEnvironment(a.lookupEnv).Resolve(ctx, test.Provider)
	if err != nil {
		return conformance.Options{}, fmt.Errorf("read the secrets of %s: %w", file, err)
	}
	bench.launch.Plugin, bench.launch.Env = info.Schemas.Name, test.Env
	options := conformance.Options{
		Provider: provider.Body, Instance: test.Instance, StateDir: bench.stateDir(),
		Assets: test.Assets, Image: test.Image, OS: test.Platform.OS, Arch: test.Platform.Arch,
		AgentURL: test.AgentURL, AgentSHA256: test.AgentSHA256, Patience: test.Patience,
	}
	if len(test.OutageBegin) > 0 {
		options.Outage = commandOutage(filepath.Dir(file), test.OutageBegin, test.OutageEnd)
	}
	return options, nil
}

// commandOutage makes an outage out of two commands, which run in the folder of
// the file that names them.
func commandOutage(folder string, begin, end []string) func(context.Context) (func(context.Context) error, error) {
	run := func(ctx context.Context, words []string) error {
		command := exec.CommandContext(ctx, words[0], words[1:]...)
		command.Dir = folder
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	return func(ctx context.Context) (func(context.Context) error, error) {
		if err := run(ctx, begin); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error { return run(ctx, end) }, nil
	}
}
