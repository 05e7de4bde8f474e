package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

func (a *app) pluginCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Install, write, test and publish provider plugins",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		a.pluginInstallCommand(),
		a.pluginUpdateCommand(),
		a.pluginListCommand(),
		a.pluginShowCommand(),
		a.pluginVerifyCommand(),
		a.pluginMirrorCommand(),
		a.pluginPublishCommand(),
		a.pluginKeygenCommand(),
		a.pluginNewCommand(),
		a.pluginTestCommand(),
		a.pluginCallCommand(),
		a.pluginDocsCommand(),
	)
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
	c.Flags().StringVar(&f.from, "from", "", "OCI layout (a directory) to use instead of all registries")
}

func (f *pluginFlags) install(c *cobra.Command) {
	f.fetch(c)
	c.Flags().
		StringArrayVar(&f.trusted, "trust-key", nil, "signing key to trust without asking, as ed25519:…; can be repeated")
	c.Flags().
		StringArrayVar(&f.platforms, "platform", nil,
			"also fetch the binary for this platform, for example linux_arm64; can be repeated")
	c.Flags().BoolVar(&f.noProgress, "no-progress", false, "don't show download progress")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
}

// pluginOptions are what the flags say, with everything from outside.
func (a *app) pluginOptions(f pluginFlags) (workspace.PluginOptions, *terminal.Download, error) {
	var o workspace.PluginOptions
	origin, err := a.origin(f.from)
	if err != nil {
		return o, nil, err
	}
	platforms, err := pluginstore.Platforms(f.platforms)
	if err != nil {
		return o, nil, err
	}
	shown := &terminal.Download{Out: a.out, Now: a.now, Silent: f.noProgress || !a.outTerminal || f.asJSON}
	o.Installer = pluginstore.Installer{
		Origin: origin, Now: a.now(), Platforms: platforms, Progress: shown.Observe,
		Warn: func(text string) { shown.Clear(); fmt.Fprintf(a.err, "Warning: %s\n", terminal.Printable(text)) },
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
	a.printf(
		"%s %s from %s is signed with a key that isn't in the lock file yet:\n\n  %s\n\nCompare it with the key that the "+
			"author published (for plugins of make build: bin/plugins.key.pub). The lock file\nwill contain the key, and "+
			"every later version must be signed with it.\n",
		s.Plugin,
		s.Version,
		s.Source,
		s.Key,
	)
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
		Short: "Install and lock the plugins that the fleet files require",
		Long: "Install the plugins in fleet.lock.hcl, and add required plugins that are missing there. Plugins come from " +
			"their OCI\n" +
			"repositories, from a mirror, or from an OCI layout (--from). A signing key that isn't in the lock file must be\n" +
			"confirmed, or given with --trust-key. Plugins that are installed already aren't fetched again. Only " +
			"locked plugins\n" +
			"are ever started.",
		RunE: func(c *cobra.Command, names []string) error {
			if dev != "" {
				if f.from != "" || locked || len(f.trusted)+len(f.platforms) > 0 {
					return errors.New("--dev can't be combined with --from, --locked, --trust-key or --platform")
				}
				return a.installBuilds(c, f, names, dev)
			}
			return a.installPlugins(
				c,
				f,
				names,
				func(w workspace.Workspace, o workspace.PluginOptions) ([]pluginstore.Installed, error) {
					o.Locked = locked
					return w.InstallPlugins(c.Context(), o)
				},
			)
		},
	}
	f.install(c)
	c.Flags().BoolVar(&locked, "locked", false, "fail instead of changing the lock file")
	c.Flags().
		StringVar(&dev, "dev", "",
			"directory with your own builds, named forgeyard-plugin-NAME: unsigned, and locked for this machine only")
	return c
}

func (a *app) pluginUpdateCommand() *cobra.Command {
	var f pluginFlags
	c := &cobra.Command{
		Use:   "update [NAME…]",
		Short: "Update plugins to the newest versions that the fleet files allow",
		Long: "Install and lock the newest version that required_plugins allows, of all plugins or the named ones. " +
			"It must be\n" +
			"signed with the key in the lock file; --trust-key replaces that key.",
		RunE: func(c *cobra.Command, names []string) error {
			return a.installPlugins(
				c,
				f,
				names,
				func(w workspace.Workspace, o workspace.PluginOptions) ([]pluginstore.Installed, error) {
					return w.UpdatePlugins(c.Context(), o)
				},
			)
		},
	}
	f.install(c)
	return c
}

func (a *app) installPlugins(
	c *cobra.Command,
	f pluginFlags,
	names []string,
	do func(workspace.Workspace, workspace.PluginOptions) ([]pluginstore.Installed, error),
) error {
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
	shown.Clear()
	if err != nil {
		return err
	}
	return a.page().Installed(installed, f.asJSON)
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
	installed, err := w.InstallBuilds(
		c.Context(),
		workspace.PluginOptions{Names: names},
		dir,
		options.Place.Run,
		options.Log,
	)
	if err != nil {
		return err
	}
	fmt.Fprintf(
		a.err,
		"Warning: own builds are unsigned and can't be installed on other machines: %s\n",
		render.NameList(installed),
	)
	return a.page().Installed(installed, f.asJSON)
}

func (a *app) pluginMirrorCommand() *cobra.Command {
	var f pluginFlags
	c := &cobra.Command{
		Use:   "mirror DEST",
		Short: "Copy the locked plugins to a directory or a registry",
		Long: "Copy the plugins in fleet.lock.hcl with their signatures to an OCI layout (a directory) or to a registry\n" +
			"(oci://HOST/PREFIX, which replaces the host of each source). Lock file and signatures stay valid, so the mirror\n" +
			"needn't be trusted. plugin install uses a directory with --from, and either with a mirror block in its\n" +
			"configuration file.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			to := pluginstore.Destination{Layout: args[0]}
			if prefix, remote := strings.CutPrefix(args[0], "oci://"); remote {
				to = pluginstore.Destination{Prefix: prefix}
				if len(f.platforms) > 0 {
					return errors.New("--platform is valid only for a directory; a registry gets whole releases")
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
			shown.Clear()
			if err != nil {
				return err
			}
			for _, p := range copied {
				a.printf("%s %s   %s\n", p.Name, p.Version, p.Index)
			}
			if to.Layout != "" {
				a.printf(
					"\nInstall from it with:\n  forgeyard-fleet plugin install --from %s\n",
					text.ShellQuote(filepath.Clean(to.Layout)),
				)
			}
			return nil
		},
	}
	f.fetch(c)
	c.Flags().
		StringArrayVar(&f.platforms, "platform", nil,
			"copy only the binaries for this platform; can be repeated (default: all)")
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
				return a.printJSON(map[string]any{"version": a.version, "plan_format": plans.Format})
			}
			_, err := fmt.Fprintln(a.out, "forgeyard-fleet", a.version)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
