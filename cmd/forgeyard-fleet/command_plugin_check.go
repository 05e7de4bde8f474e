package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
)

func (a *app) pluginTestCommand() *cobra.Command {
	var o pluginTestFlags
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
			if o.file == "" {
				return errors.New("--config FILE is required: a file with the provider block to test with")
			}
			return a.testPlugin(c.Context(), args[0], o)
		},
	}
	c.Flags().StringVar(&o.file, "config", "", "file with the provider, instance and test blocks")
	c.Flags().BoolVar(&o.create, "allow-create", false, "let the rules create and remove instances")
	c.Flags().StringSliceVar(&o.rules, "rule", nil, "check only this rule and those that it needs; can be repeated")
	c.Flags().BoolVar(&o.asJSON, "json", false, "print JSON: each rule with its result")
	_ = c.RegisterFlagCompletionFunc("rule", cobra.FixedCompletions(ruleNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// pluginTestFlags are how a plugin is tested.
type pluginTestFlags struct {
	file           string
	rules          []string
	create, asJSON bool
}

func ruleNames() []string {
	var names []string
	for _, rule := range conformance.Rules() {
		names = append(names, rule.Name)
	}
	return names
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

func (a *app) testPlugin(ctx context.Context, binary string, o pluginTestFlags) (err error) {
	bench, err := newPluginBench(binary, a.lookupEnv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bench.close()) }()
	info, err := bench.describe(ctx)
	if err != nil {
		return err
	}
	options, err := a.testOptions(ctx, bench, info, o.file)
	if err != nil {
		return err
	}
	options.AllowCreate, options.Only = o.create, o.rules
	if a.errTerminal {
		options.Begun = func(rule string) { fmt.Fprintf(a.err, "\r\x1b[K%s …", rule) }
		defer fmt.Fprint(a.err, "\r\x1b[K")
	}
	report := pluginReport{Plugin: info.Schemas.Name, Version: info.Schemas.Version}
	err = conformance.Run(ctx, bench, options, func(result conformance.Result) {
		report.add(result)
		if a.errTerminal {
			fmt.Fprint(a.err, "\r\x1b[K")
		}
		if !o.asJSON {
			a.showRule(result)
		}
	})
	if err != nil {
		return err
	}
	if o.asJSON {
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
		if !o.create {
			a.printf("Rules that create instances were skipped; pass --allow-create to check them.\n")
		}
	}
	if err == nil && report.Failed > 0 {
		return exitStatus(exitError)
	}
	return err
}

// showRule is one rule with what was found.
func (a *app) showRule(r conformance.Result) {
	a.printf("%s  %-22s %6.1fs  %s\n", r.Verdict, r.Rule, r.Seconds, r.Says)
	if r.Reason != "" {
		a.printf("      %s\n", strings.ReplaceAll(r.Reason, "\n", "\n      "))
	}
	if len(r.Log) > 0 {
		a.printf("      The plugin's log meanwhile:\n")
	}
	for _, line := range r.Log {
		a.printf("        %s\n", line)
	}
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
	commands := testCommands{folder: filepath.Dir(file)}
	if len(test.OutageBegin) > 0 {
		options.Outage = commands.outage(test.OutageBegin, test.OutageEnd)
	}
	if len(test.Count) > 0 {
		options.Count = commands.count(test.Count)
	}
	options.PageSize = test.PageSize
	if test.ProxyAttribute != "" {
		if options.Proxy, err = proxyAt(test.ProxyAttribute, provider.Body); err != nil {
			return options, fmt.Errorf("read the proxy block of %s: %w", file, err)
		}
	}
	return options, nil
}
