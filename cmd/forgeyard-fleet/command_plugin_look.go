package main

import (
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
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
