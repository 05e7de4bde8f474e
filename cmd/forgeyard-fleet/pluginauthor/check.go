package pluginauthor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
)

func (s Session) TestCommand() *cobra.Command {
	var o testFlags
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
			return s.testPlugin(c.Context(), args[0], o)
		},
	}
	c.Flags().StringVar(&o.file, "config", "", "file with the provider, instance and test blocks")
	c.Flags().BoolVar(&o.create, "allow-create", false, "let the rules create and remove instances")
	c.Flags().StringSliceVar(&o.rules, "rule", nil, "check only this rule and those that it needs; can be repeated")
	c.Flags().BoolVar(&o.asJSON, "json", false, "print JSON: each rule with its result")
	_ = c.RegisterFlagCompletionFunc("rule", cobra.FixedCompletions(ruleNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// testFlags are how a plugin is tested.
type testFlags struct {
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

// Report is the result for programs.
type Report struct {
	Plugin  string               `json:"plugin"`
	Version string               `json:"version"`
	Passed  int                  `json:"passed"`
	Failed  int                  `json:"failed"`
	Skipped int                  `json:"skipped"`
	Results []conformance.Result `json:"results"`
}

func (r *Report) add(result conformance.Result) {
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

func (s Session) testPlugin(ctx context.Context, binary string, o testFlags) (err error) {
	under, info, options, err := s.open(ctx, binary, o.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, under.close()) }()
	options.AllowCreate, options.Only = o.create, o.rules
	if s.ErrTerminal {
		options.Begun = func(rule string) { fmt.Fprintf(s.Err, "\r\x1b[K%s …", rule) }
		defer fmt.Fprint(s.Err, "\r\x1b[K")
	}
	report := Report{Plugin: info.Schemas.Name, Version: info.Schemas.Version}
	err = conformance.Run(ctx, under, options, func(result conformance.Result) {
		report.add(result)
		if s.ErrTerminal {
			fmt.Fprint(s.Err, "\r\x1b[K")
		}
		if !o.asJSON {
			s.showRule(result)
		}
	})
	if err != nil {
		return err
	}
	if o.asJSON {
		err = s.Page.JSON(report)
	} else {
		s.Page.Printf(
			"\nPlugin %s %s: %d passed, %d failed, %d skipped.\n",
			report.Plugin,
			report.Version,
			report.Passed,
			report.Failed,
			report.Skipped,
		)
		if !o.create {
			s.Page.Printf("Rules that create instances were skipped; pass --allow-create to check them.\n")
		}
	}
	if err == nil && report.Failed > 0 {
		return terminal.ExitStatus(terminal.ExitError)
	}
	return err
}

// showRule is one rule with what was found.
func (s Session) showRule(r conformance.Result) {
	s.Page.Printf("%s  %-22s %6.1fs  %s\n", r.Verdict, r.Rule, r.Seconds, r.Says)
	if r.Reason != "" {
		s.Page.Printf("      %s\n", strings.ReplaceAll(r.Reason, "\n", "\n      "))
	}
	if len(r.Log) > 0 {
		s.Page.Printf("      The plugin's log meanwhile:\n")
	}
	for _, line := range r.Log {
		s.Page.Printf("        %s\n", line)
	}
}

// open makes a bench of a binary, asks the plugin what it is and reads the file of the test.
// The bench is to be closed.
func (s Session) open(ctx context.Context, binary, file string) (
	under *bench, info pluginhost.Info, options conformance.Options, err error,
) {
	if under, err = newBench(binary, s.LookupEnv); err != nil {
		return nil, info, options, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, under.close())
		}
	}()
	if info, err = under.describe(ctx); err != nil {
		return nil, info, options, err
	}
	options, err = s.testOptions(ctx, under, info, file)
	return under, info, options, err
}

// testOptions reads the file of the test, with the secrets that it refers to.
func (s Session) testOptions(
	ctx context.Context,
	under *bench,
	info pluginhost.Info,
	file string,
) (conformance.Options, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return conformance.Options{}, fmt.Errorf("read the test configuration: %w", err)
	}
	test, found := config.LoadPluginTest(config.Source{Name: file, Bytes: content}, info.Schemas)
	if err := s.Warn(found); err != nil {
		return conformance.Options{}, err
	}
	provider, err := secret.FromEnvironment(s.LookupEnv).Resolve(ctx, test.Provider)
	if err != nil {
		return conformance.Options{}, fmt.Errorf("read the secrets of %s: %w", file, err)
	}
	under.launch.Plugin, under.launch.Env = info.Schemas.Name, test.Env
	options := conformance.Options{
		Provider: provider.Body, Instance: test.Instance, StateDir: under.stateDir(),
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
