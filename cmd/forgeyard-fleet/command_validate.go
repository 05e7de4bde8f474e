package main

import (
	"errors"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

func (a *app) validateCommand() *cobra.Command {
	var variables variableFlags
	var plugins, asJSON bool
	c := &cobra.Command{
		Use:   "validate [DIR]",
		Short: "Check the fleet files of a directory",
		Long: "Check the fleet files of a directory, and that the lock file fits them. The blocks of plugins are " +
			"checked against\n" +
			"what was recorded at installation. No plugin is started, unless --plugins requests the plugins' own checks.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			d, found, err := a.validate(c, args, variables, plugins)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printValidation(found)
			}
			if err := a.report(found); err != nil {
				return err
			}
			a.printf(
				"The fleet files are valid: %s, %s.\n",
				text.Plural(len(d.Fleets), "fleet"),
				text.Plural(len(d.Providers), "provider"),
			)
			return nil
		},
	}
	variables.register(c.Flags())
	c.Flags().BoolVar(&plugins, "plugins", false, "start the plugins and let them check their blocks")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: whether the files are valid, and all diagnostics")
	return c
}

// validate gives the definition and all that was found, be it right or wrong.
func (a *app) validate(
	c *cobra.Command,
	args []string,
	variables variableFlags,
	plugins bool,
) (fleet.Definition, config.Diagnostics, error) {
	w, err := a.workspace(args)
	if found, mistakes := errors.AsType[config.Diagnostics](err); mistakes {
		return fleet.Definition{}, found, nil
	}
	if err != nil {
		return fleet.Definition{}, nil, err
	}
	given, err := a.values(variables)
	if err != nil {
		return fleet.Definition{}, nil, err
	}
	loaded, found := w.Load(given)
	if found.HasErrors() {
		return fleet.Definition{}, found, nil
	}
	if err := w.CheckLock(); err != nil {
		return fleet.Definition{}, nil, err
	}
	if plugins {
		complaints, err := a.validateWithPlugins(c, w, loaded)
		if err != nil {
			return fleet.Definition{}, nil, err
		}
		found = append(found, complaints...)
	}
	return loaded.Definition, found, nil
}

// printValidation is the result for programs. Mistakes are part of it, so they
// aren't told again on standard error.
func (a *app) printValidation(found config.Diagnostics) error {
	err := a.printJSON(struct {
		Valid       bool               `json:"valid"`
		Diagnostics config.Diagnostics `json:"diagnostics"`
	}{!found.HasErrors(), append(config.Diagnostics{}, found...)})
	if err == nil && found.HasErrors() {
		return terminal.ExitStatus(terminal.ExitError)
	}
	return err
}

// validateWithPlugins lets the plugins check what is theirs.
func (a *app) validateWithPlugins(
	c *cobra.Command,
	w workspace.Workspace,
	loaded *config.Loaded,
) (config.Diagnostics, error) {
	options, err := a.options(w, c.CommandPath())
	if err != nil {
		return nil, err
	}
	return w.ValidateWithPlugins(c.Context(), loaded, options.Place.Run, options.Log)
}
