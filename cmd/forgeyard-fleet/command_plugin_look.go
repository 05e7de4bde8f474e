package main

import (
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"fmt"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/cmd/internal/plugindocs"
)

func (a *app) pluginListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the required plugins with version, signer and state",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			w, err := a.workspace(nil)
			if err != nil {
				return err
			}
			states, err := w.PluginStates(nil)
			if err != nil {
				return err
			}
			if asJSON {
				for n := range states {
					states[n].Schemas = nil // plugin show has them
				}
				return a.printJSON(states)
			}
			for _, s := range states {
				if s.Version == "" {
					a.printf("%s   %s\n", s.Name, s.Problem)
					continue
				}
				here := "in store"
				if !s.Present {
					here = "not installed"
				}
				a.printf("%s %s   %s   %s   protocol %d   %s\n", s.Name, s.Version, s.Source, render.SignedBy(s.Locked),
					s.Protocol, here)
			}
			if len(states) == 0 {
				a.printf("The fleet files require no plugins.\n")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) pluginShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a locked plugin: digests, signer, and the attributes of its blocks",
		Long: "Show the entry of a plugin in fleet.lock.hcl and the recorded description of the plugin. The plugin " +
			"isn't started.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			w, err := a.workspace(nil)
			if err != nil {
				return err
			}
			states, err := w.PluginStates(args)
			if err != nil {
				return err
			}
			s := states[0]
			if asJSON {
				return a.printJSON(s)
			}
			if s.Version == "" {
				return errors.New("plugin " + s.Name + " is " + s.Problem)
			}
			a.printf("%s %s\n  source    %s\n  protocol  %d\n", s.Name, s.Version, s.Source, s.Protocol)
			if s.Index != "" {
				a.printf("  index     %s\n", s.Index)
			}
			a.printf("  signer    %s\n", map[bool]string{true: s.Signer, false: "none"}[s.Signer != ""])
			for _, platform := range slices.Sorted(maps.Keys(s.Binaries)) {
				a.printf("  %-14s  %s\n", platform, s.Binaries[platform])
			}
			if s.Problem != "" {
				a.printf("\n%s\n", s.Problem)
			}
			if s.Schemas != nil {
				a.printf("\nprovider %q\n", s.Name)
				a.page().Schema(s.Schemas.Provider, "  ")
				a.printf("\ninstance\n")
				a.page().Schema(s.Schemas.Instance, "  ")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) pluginVerifyCommand() *cobra.Command {
	var f pluginFlags
	var offline, asJSON bool
	c := &cobra.Command{
		Use:   "verify",
		Short: "Verify installed plugins against the lock file and their signatures",
		Long: "Compare the digest of every installed binary with the lock file, and check at the plugin's source that " +
			"it is still\n" +
			"signed with the key in the lock file.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			w, err := a.workspace(nil)
			if err != nil {
				return err
			}
			o, _, err := a.pluginOptions(f)
			if err != nil {
				return err
			}
			passed, problems := w.VerifyPlugins(c.Context(), o, offline)
			if asJSON {
				names := []string{}
				for _, p := range passed {
					names = append(names, p.Name)
				}
				return errors.Join(append(problems, a.printJSON(map[string]any{"verified": names}))...)
			}
			for _, p := range passed {
				a.printf("%s %s   %s   matches the lock file\n", p.Name, p.Version, render.SignedBy(p))
			}
			return errors.Join(problems...)
		},
	}
	f.fetch(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&offline, "offline", false, "don't check signatures, which needs the network")
	return c
}

func (a *app) pluginDocsCommand() *cobra.Command {
	var variables variableFlags
	var policy bool
	c := &cobra.Command{
		Use:   "docs NAME [DIR]",
		Short: "Print the reference of an installed plugin, or the permissions that it needs",
		Long: "Print the reference of a plugin's provider and instance blocks as Markdown. It was recorded at " +
			"installation; no\n" +
			"plugin is started. With --policy, print the permissions that the credentials of a provider block need for its\n" +
			"fleets, in the provider's own format. The plugin is started for it without network access. NAME is then the\n" +
			"address of the block (\"aws.main\"), or the plugin if it has one block.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if policy {
				return a.printPolicy(c, args, variables)
			}
			if len(variables.assignments)+len(variables.files) > 0 {
				return errors.New("--var and --var-file are valid only with --policy")
			}
			w, err := a.workspace(args[1:])
			if err != nil {
				return err
			}
			plugin, err := w.Schemas(args[0])
			if err != nil {
				return fmt.Errorf("describe the plugin %q: %w", args[0], err)
			}
			a.printf("%s", plugindocs.Page(plugin))
			return nil
		},
	}
	variables.register(c.Flags())
	c.Flags().BoolVar(&policy, "policy", false, "print the permissions that the credentials need")
	return c
}

func (a *app) printPolicy(c *cobra.Command, args []string, variables variableFlags) error {
	w, err := a.workspace(args[1:])
	if err != nil {
		return err
	}
	given, err := a.values(variables)
	if err != nil {
		return err
	}
	loaded, found := w.Load(given)
	if err := a.report(found); err != nil {
		return err
	}
	options, err := a.options(w, c.CommandPath())
	if err != nil {
		return err
	}
	document, err := w.Policy(c.Context(), loaded, args[0], options.Place.Run, options.Log)
	if err != nil {
		return fmt.Errorf("write the policy of %s: %w", args[0], err)
	}
	a.printf("%s", document)
	return nil
}
