package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/control"
)

func (a *app) pluginCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Install, write and test provider plugins",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.pluginInstallCommand())
	c.AddCommand(a.pluginTestCommand())
	c.AddCommand(a.pluginNewCommand())
	c.AddCommand(a.pluginDocsCommand())
	return c
}

func (a *app) pluginInstallCommand() *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:   "install --from FOLDER [DIR]",
		Short: "Install the plugins that the fleet files require, and lock them",
		Long: "Copy each required plugin's forgeyard-plugin-NAME from a directory into the plugin store and write\n" +
			"fleet.lock.hcl beside the fleet files. Only what is locked is ever started.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if from == "" {
				return errors.New("--from FOLDER is missing; name the folder that holds the built plugins")
			}
			w, err := a.workspace(args)
			if err != nil {
				return err
			}
			options, err := a.options(w, c.CommandPath())
			if err != nil {
				return err
			}
			installed, err := w.InstallFrom(c.Context(), from, options.Place.Run, options.Log)
			if err != nil {
				return err
			}
			if len(installed) == 0 {
				a.printf("The fleet files require no plugin.\n")
				return nil
			}
			for _, p := range installed {
				for platform, digest := range p.Binaries {
					a.printf("%s %s  %s  %s\n", p.Name, p.Version, platform, digest[:min(len(digest), 19)])
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", "", "folder that holds forgeyard-plugin-NAME for each plugin")
	return c
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.printJSON(map[string]any{"version": a.version, "plan_format": control.PlanFormat})
			}
			_, err := fmt.Fprintln(a.out, "forgeyard-fleet", a.version)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
