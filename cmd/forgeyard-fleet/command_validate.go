package main

import (
	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/control"
)

func (a *app) validateCommand() *cobra.Command {
	var variables variableFlags
	var plugins bool
	c := &cobra.Command{
		Use:   "validate [DIR]",
		Short: "Check the fleet files of a directory",
		Long: "Check the fleet files of a directory. Plugins are described by what was recorded when they were\n" +
			"installed; none is started unless --plugins asks for the plugins' own checks.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w, err := a.workspace(args)
			if err != nil {
				return err
			}
			loaded, err := a.load(w, variables)
			if err != nil {
				return err
			}
			if plugins {
				if err := a.validateWithPlugins(c, w, loaded); err != nil {
					return err
				}
			}
			d := loaded.Definition
			a.printf("The fleet files are valid: %s, %s.\n", plural(len(d.Fleets), "fleet"), plural(len(d.Providers), "provider"))
			return nil
		},
	}
	variables.register(c.Flags())
	c.Flags().BoolVar(&plugins, "plugins", false, "start the plugins and let them check their blocks, too")
	return c
}

// validateWithPlugins lets the plugins check what is theirs.
func (a *app) validateWithPlugins(c *cobra.Command, w control.Workspace, loaded *config.Loaded) error {
	options, err := a.options(w, c.CommandPath())
	if err != nil {
		return err
	}
	found, err := w.ValidateWithPlugins(c.Context(), loaded, options.Place.Run, options.Log)
	if err != nil {
		return err
	}
	return a.report(found)
}
