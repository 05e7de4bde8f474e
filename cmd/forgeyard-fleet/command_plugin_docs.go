package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/internal/plugindocs"
)

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
