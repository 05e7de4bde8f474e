package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/connection"
	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// tellVersion says before a plan that its manager is of another version: what the
// one of this command would do shows only once that one is the manager.
func (a *app) tellVersion(r installation.Reader) {
	if c, ok := r.(*connection.Connection); ok && c.Version != "" && c.Version != a.version {
		fmt.Fprintf(
			a.err,
			"Note: the running manager has version %s, this command %s. The plan was made by the manager.\n",
			c.Version,
			a.version,
		)
	}
}

// finder finds the manager that the flags name.
func (a *app) finder() connection.Finder {
	return connection.Finder{Server: a.flags.server, LookupEnv: a.lookupEnv}
}

func (a *app) env(name string) string {
	value, _ := a.lookupEnv(name)
	return value
}

// caller is the context of a command with the user who runs it: anyone who may open
// the state directory may do everything with it. A manager elsewhere
// authenticates by its own means.
func caller(c *cobra.Command) context.Context {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return access.WithCaller(c.Context(), access.LocalUser(name))
}

// installed are the options of a command that needs no fleet files where it is
// said where the installation is: --server, or else --state or FLEET_STATE_DIR.
// Only where that isn't said, or --dir asks for it, files name the installation.
func (a *app) installed(c *cobra.Command) (workspace.Options, error) {
	if a.flags.server != "" {
		log, err := a.log()
		return workspace.Options{Version: a.version, Command: c.CommandPath(), Clock: a.now, Log: log}, err
	}
	if a.flags.dir == "" && (a.flags.state != "" || a.env("FLEET_STATE_DIR") != "") {
		return a.optionsFor("", c.CommandPath())
	}
	dir, err := a.directory(nil)
	if err != nil {
		return workspace.Options{}, err
	}
	sources, err := config.ReadDir(dir)
	if errors.Is(err, config.ErrNoSources) {
		return workspace.Options{}, fmt.Errorf("find the installation: %w, or name it with --dir, --state or --server", err)
	}
	if err != nil {
		return workspace.Options{}, err
	}
	requirements, found := config.LoadRequirements(sources)
	if found.HasErrors() {
		return workspace.Options{}, found
	}
	return a.optionsFor(requirements.Installation, c.CommandPath())
}

// withService runs a command that changes things in an installation, other than
// its definition.
func (a *app) withService(c *cobra.Command, do func(context.Context, installation.Service) error) error {
	options, err := a.installed(c)
	if err != nil {
		return err
	}
	ctx := caller(c)
	service, err := a.finder().Writer(ctx, options)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, service), service.Close())
}
