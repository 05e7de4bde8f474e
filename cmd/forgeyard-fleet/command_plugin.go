package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

func (a *app) pluginCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Install, write, test and publish provider plugins",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.pluginInstallCommand(), a.pluginUpdateCommand(), a.pluginListCommand(), a.pluginShowCommand(), a.pluginVerifyCommand(),
		a.pluginMirrorCommand(), a.pluginPublishCommand(), a.pluginKeygenCommand(),
		a.pluginNewCommand(), a.pluginTestCommand(), a.pluginDocsCommand())
	return c
}

// pluginFlags are those of the commands that fetch plugins.
type pluginFlags struct {
	from       string
	trusted    []string
	platforms  []string
	noProgress bool
	asJSON     bool
}

func (f *pluginFlags) fetch(c *cobra.Command) {
	c.Flags().StringVar(&f.from, "from", "", "OCI layout that stands in for all registries")
}

func (f *pluginFlags) install(c *cobra.Command) {
	f.fetch(c)
	c.Flags().StringArrayVar(&f.trusted, "trust-key", nil, "signing key to trust, ed25519:…, instead of being asked; repeat it for several")
	c.Flags().StringArrayVar(&f.platforms, "platform", nil, "fetch the binary for this platform too, such as linux_arm64; repeat it for several")
	c.Flags().BoolVar(&f.noProgress, "no-progress", false, "show no bytes and rates, on a terminal either")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
}

// pluginOptions are what the flags say, with everything from outside.
func (a *app) pluginOptions(f pluginFlags) (workspace.PluginOptions, *fetching, error) {
	var o workspace.PluginOptions
	origin, err := a.origin(f.from)
	if err != nil {
		return o, nil, err
	}
	platforms, err := pluginstore.Platforms(f.platforms)
	if err != nil {
		return o, nil, err
	}
	shown := &fetching{app: a, silent: f.noProgress || !a.outTerminal || f.asJSON}
	o.Installer = pluginstore.Installer{
		Origin: origin, Now: a.now(), Platforms: platforms, Progress: shown.observe,
		Warn: func(text string) { shown.clear(); fmt.Fprintf(a.err, "Warning: %s\n", withoutControls(text)) },
	}
	for _, text := range f.trusted {
		key, err := pluginstore.ParsePublicKey(text)
		if err != nil {
			return o, nil, fmt.Errorf("--trust-key: %w", err)
		}
		o.Installer.Trusted = append(o.Installer.Trusted, key)
	}
	if a.inTerminal && !f.asJSON {
		o.Installer.Agree = a.agree
	}
	return o, shown, nil
}

// origin is the layout, or the registries with the user's mirrors.
func (a *app) origin(layout string) (pluginstore.Origin, error) {
	o := pluginstore.Origin{
		Layout:   layout,
		Registry: pluginstore.Registry{LookupEnv: a.lookupEnv, UserAgent: "forgeyard-fleet/" + a.version},
	}
	if layout != "" {
		return o, nil
	}
	path, err := workspace.ConfigurationFile(a.lookupEnv)
	if err != nil {
		return o, err
	}
	o.Mirrors, err = pluginstore.ReadMirrors(path)
	return o, err
}

// agree asks about a key that signed a plugin and that no lock names yet.
func (a *app) agree(ctx context.Context, s pluginstore.NewSigner) error {
	a.printf("%s %s of %s is signed by a key that is new here:\n\n  %s\n\nCompare it with the one that its author names; of plugins from make build it is in bin/plugins.key.pub. The lock will name it, and every later version must be signed by it.\n", s.Plugin, s.Version, s.Source, s.Key)
	yes, err := a.confirm(ctx, "Trust this key for "+s.Plugin+"?")
	if err == nil && !yes {
		a.printf("Nothing was installed.\n")
		return exitStatus(exitDeclined)
	}
	return err
}

func (a *app) pluginInstallCommand() *cobra.Command {
	var f pluginFlags
	var locked bool
	var dev string
	c := &cobra.Command{
		Use:   "install [NAME…]",
		Short: "Install the plugins that the fleet files require, and lock them",
		Long: "Make the plugin store have what fleet.lock.hcl names, and add to the lock what the fleet files require and\n" +
			"it doesn't have. Plugins come from their OCI repositories, a mirror of these, or an OCI layout (--from). A key\n" +
			"that no lock names yet is asked about, or named with --trust-key. What is there already is asked of nobody.\n" +
			"Only what is locked is ever started. The directory of the fleet files is the current one, or --dir.",
		RunE: func(c *cobra.Command, names []string) error {
			if dev != "" {
				if f.from != "" || locked || len(f.trusted)+len(f.platforms) > 0 {
					return errors.New("--dev installs builds of your own for this machine; it goes with none of --from, --locked, --trust-key and --platform")
				}
				return a.installBuilds(c, f, names, dev)
			}
			return a.installPlugins(c, f, names, func(w workspace.Workspace, o workspace.PluginOptions) ([]pluginstore.Installed, error) {
				o.Locked = locked
				return w.InstallPlugins(c.Context(), o)
			})
		},
	}
	f.install(c)
	c.Flags().BoolVar(&locked, "locked", false, "fail where the lock would have to change, instead of changing it")
	c.Flags().StringVar(&dev, "dev", "", "folder of forgeyard-plugin-NAME builds of your own: not signed, and locked for this machine alone")
	return c
}

func (a *app) pluginUpdateCommand() *cobra.Command {
	var f pluginFlags
	c := &cobra.Command{
		Use:   "update [NAME…]",
		Short: "Install and lock the newest versions that the fleet files allow",
		Long: "Look for the newest version that required_plugins allows, of all plugins or the named ones, install it and\n" +
			"lock it. It must be signed by the key that the lock names; --trust-key names another one from now on.",
		RunE: func(c *cobra.Command, names []string) error {
			return a.installPlugins(c, f, names, func(w workspace.Workspace, o workspace.PluginOptions) ([]pluginstore.Installed, error) {
				return w.UpdatePlugins(c.Context(), o)
			})
		},
	}
	f.install(c)
	return c
}

func (a *app) installPlugins(c *cobra.Command, f pluginFlags, names []string, do func(workspace.Workspace, workspace.PluginOptions) ([]pluginstore.Installed, error)) error {
	w, err := a.workspace(nil)
	if err != nil {
		return err
	}
	o, shown, err := a.pluginOptions(f)
	if err != nil {
		return err
	}
	o.Names = names
	installed, err := do(w, o)
	shown.clear()
	if err != nil {
		return err
	}
	return a.renderInstalled(installed, f.asJSON)
}

func (a *app) installBuilds(c *cobra.Command, f pluginFlags, names []string, dir string) error {
	w, err := a.workspace(nil)
	if err != nil {
		return err
	}
	options, err := a.options(w, c.CommandPath())
	if err != nil {
		return err
	}
	installed, err := w.InstallBuilds(c.Context(), workspace.PluginOptions{Names: names}, dir, options.Place.Run, options.Log)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "Warning: these are builds of your own, which nobody signed and no other machine can install: %s\n", nameList(installed))
	return a.renderInstalled(installed, f.asJSON)
}

func nameList(installed []pluginstore.Installed) string {
	var names []string
	for _, p := range installed {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

func (a *app) renderInstalled(installed []pluginstore.Installed, asJSON bool) error {
	if asJSON {
		type row struct {
			Name    string   `json:"name"`
			Version string   `json:"version"`
			Before  string   `json:"before,omitempty"`
			Source  string   `json:"source"`
			Index   string   `json:"index,omitempty"`
			Signer  string   `json:"signer,omitempty"`
			Fetched []string `json:"fetched"`
		}
		rows := []row{}
		for _, p := range installed {
			rows = append(rows, row{p.Name, p.Version, p.Before, p.Source, p.Index, p.Signer, append([]string{}, p.Fetched...)})
		}
		return a.printJSON(rows)
	}
	if len(installed) == 0 {
		a.printf("The fleet files require no plugin.\n")
	}
	for _, p := range installed {
		version := p.Version
		if p.Before != "" && p.Before != p.Version {
			version = p.Before + " → " + p.Version
		}
		state := "in store"
		if len(p.Fetched) > 0 {
			state = "fetched for " + strings.Join(p.Fetched, ", ")
		}
		a.printf("%s %s   %s   %s\n", p.Name, version, signedBy(p.LockedPlugin), state)
	}
	return nil
}

// signedBy is enough of a key to tell it from another.
func signedBy(p pluginstore.LockedPlugin) string {
	switch {
	case p.Source == pluginstore.SourceDev:
		return "own build"
	case p.Signer == "":
		return "unsigned"
	}
	return "signed " + p.Signer[:len("ed25519:")+8] + "…"
}

func (a *app) pluginMirrorCommand() *cobra.Command {
	var f pluginFlags
	c := &cobra.Command{
		Use:   "mirror DEST",
		Short: "Copy the locked plugins to a folder or a registry",
		Long: "Copy what fleet.lock.hcl names, with its signatures, to an OCI layout (a folder) or to a registry\n" +
			"(oci://HOST/PREFIX, where a source's own host is left out). Locks and signatures hold there as they are: the\n" +
			"mirror needn't be trusted. plugin install takes from a folder with --from, and from either with a mirror block\n" +
			"in its configuration file.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			to := pluginstore.Destination{Layout: args[0]}
			if prefix, remote := strings.CutPrefix(args[0], "oci://"); remote {
				to = pluginstore.Destination{Prefix: prefix}
				if len(f.platforms) > 0 {
					return errors.New("a registry takes releases whole; leave --platform out")
				}
			}
			w, err := a.workspace(nil)
			if err != nil {
				return err
			}
			platforms, err := pluginstore.Platforms(f.platforms)
			if err != nil {
				return err
			}
			o, shown, err := a.pluginOptions(pluginFlags{from: f.from})
			if err != nil {
				return err
			}
			copied, err := w.MirrorPlugins(c.Context(), o, to, platforms)
			shown.clear()
			if err != nil {
				return err
			}
			for _, p := range copied {
				a.printf("%s %s   %s\n", p.Name, p.Version, p.Index)
			}
			if to.Layout != "" {
				a.printf("\nInstall from it with: forgeyard-fleet plugin install --from %s\n", filepath.Clean(to.Layout))
			}
			return nil
		},
	}
	f.fetch(c)
	c.Flags().StringArrayVar(&f.platforms, "platform", nil, "copy the binaries for this platform only; repeat it for several (default: all)")
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
