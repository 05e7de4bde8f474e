package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/api"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/daemon"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// connection is a way to an installation. Commands use what it offers and don't
// know which one it is: this process, the daemon of this machine, or a manager
// elsewhere.
type connection struct {
	installation.Service
	// embedded is set where this very process is the manager.
	embedded *daemon.Daemon
	// where says in words where the manager is, and of which version where it is
	// another process.
	where string
	// version is that of the manager; empty: this process is the manager.
	version string
	close   func() error
}

// writer is the way for a command that changes things: the manager that runs, or
// else this process becomes it.
func (a *app) writer(ctx context.Context, o workspace.Options) (*connection, error) {
	if c, err := a.running(ctx, o); err != nil || c != nil {
		return c, err
	}
	m, err := daemon.Open(ctx, o)
	if err != nil {
		return nil, ofAnotherUser(o.Place.State, err)
	}
	return &connection{Service: m, embedded: m, where: "this process", close: m.Close}, nil
}

// reading is the way for a command that only looks: the manager that runs, or the
// state directory itself.
func (a *app) reading(ctx context.Context, o workspace.Options, do func(installation.Reader, string) error) error {
	c, err := a.running(ctx, o)
	if err != nil {
		return err
	}
	if c != nil {
		return errors.Join(do(c, c.where), c.close())
	}
	look, err := daemon.OpenReadOnly(ctx, o)
	if err != nil {
		return ofAnotherUser(o.Place.State, err)
	}
	where := ""
	if holder, held := daemon.Held(o.Place.State); held {
		where = holder.String()
	}
	return errors.Join(do(look, where), look.Close())
}

// running is the way to the manager that runs: where --server says, or the
// daemon of this machine. It is nil where none answers; an apply that holds the
// lock for itself answers no calls.
func (a *app) running(ctx context.Context, o workspace.Options) (*connection, error) {
	if a.flags.server != "" {
		c, err := a.dial(
			ctx,
			api.Endpoint{
				URL:           a.flags.server,
				CAFingerprint: a.env("FLEET_SERVER_CA"),
				Token:         strings.TrimSpace(a.env("FLEET_TOKEN")),
			},
			a.flags.server,
		)
		if _, unknown := errors.AsType[*tls.CertificateVerificationError](err); unknown && a.env("FLEET_SERVER_CA") == "" {
			err = fmt.Errorf(
				"%w; set FLEET_SERVER_CA to the fingerprint of its authority, which serve prints when it starts (sha256:…)",
				err,
			)
		}
		return c, err
	}
	holder, held := daemon.Held(o.Place.State)
	if !held {
		return nil, nil
	}
	c, err := a.dial(ctx, api.Endpoint{Socket: o.Place.Socket()}, holder.String())
	if _, unreachable := errors.AsType[*api.UnreachableError](err); unreachable {
		return nil, nil
	}
	return c, err
}

func (a *app) dial(ctx context.Context, e api.Endpoint, where string) (*connection, error) {
	client, err := api.Dial(ctx, e)
	if err != nil {
		return nil, err
	}
	version := client.About().Version
	return &connection{
		Service: client,
		version: version,
		where:   where + ", version " + version,
		close:   func() error { client.Close(); return nil },
	}, nil
}

// tellVersion says before a plan that its manager is of another version: what the
// one of this command would do shows only once that one is the manager.
func (a *app) tellVersion(r installation.Reader) {
	if c, ok := r.(*connection); ok && c.version != "" && c.version != a.version {
		fmt.Fprintf(
			a.err,
			"Note: the running manager has version %s, this command %s. The plan was made by the manager.\n",
			c.version,
			a.version,
		)
	}
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
	service, err := a.writer(ctx, options)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, service), service.close())
}
