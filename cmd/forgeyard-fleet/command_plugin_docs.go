package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/internal/plugindocs"
)

func (a *app) pluginDocsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "docs NAME [DIR]",
		Short: "Print the reference of an installed plugin's blocks as Markdown",
		Long: "Print what an installed plugin says of its provider and instance blocks, as Markdown. It was recorded when the\n" +
			"plugin was installed: nothing is started.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
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
}
