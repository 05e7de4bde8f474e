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
		Short: "Print the reference of an installed plugin's blocks as Markdown, or its credentials' policy",
		Long: "Print what an installed plugin says of its provider and instance blocks, as Markdown. It was recorded when the\n" +
			"plugin was installed: nothing is started.\n" +
			"With --policy print instead what the credentials of a provider block must be allowed to do for its fleets, in\n" +
			"the infrastructure's own form. The plugin is started for it, and reaches no network. NAME is then the block's\n" +
			"address (\"aws.main\"), or the plugin where it has one block.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if policy {
				return a.printPolicy(c, args, variables)
			}
			if len(variables.assignments)+len(variables.files) > 0 {
				return errors.New("--var and --var-file are for --policy, which reads the fleet files; the reference has none of their values: add --policy, or leave them out")
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
	c.Flags().BoolVar(&policy, "policy", false, "print what the credentials must be allowed to do")
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
