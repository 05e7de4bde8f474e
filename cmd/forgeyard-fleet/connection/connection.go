// Package connection finds the manager of an installation, or opens its state directory.
package connection

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/api"
	"github.com/forgeyard/forgeyard-fleet/core/daemon"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Connection is a way to an installation. Commands use what it offers and don't
// know which one it is: this process, the daemon of this machine, or a manager
// elsewhere.
type Connection struct {
	installation.Service
	// Embedded is set where this very process is the manager.
	Embedded *daemon.Daemon
	// Where says in words where the manager is, and of which version where it is
	// another process.
	Where string
	// Version is that of the manager; empty: this process is the manager.
	Version string
	Close   func() error
}

// Finder finds the manager of an installation.
type Finder struct {
	// Server is the URL of a manager elsewhere; empty: the installation is on this machine.
	Server    string
	LookupEnv func(string) (string, bool)
}

func (f Finder) env(name string) string {
	value, _ := f.LookupEnv(name)
	return value
}

// Writer is the way for a command that changes things: the manager that runs, or
// else this process becomes it.
func (f Finder) Writer(ctx context.Context, o workspace.Options) (*Connection, error) {
	if c, err := f.Running(ctx, o); err != nil || c != nil {
		return c, err
	}
	m, err := daemon.Open(ctx, o)
	if err != nil {
		return nil, ofAnotherUser(o.Place.State, err)
	}
	return &Connection{Service: m, Embedded: m, Where: "this process", Close: m.Close}, nil
}

// Read is the way for a command that only looks: the manager that runs, or the
// state directory itself.
func (f Finder) Read(ctx context.Context, o workspace.Options, do func(installation.Reader, string) error) error {
	c, err := f.Running(ctx, o)
	if err != nil {
		return err
	}
	if c != nil {
		return errors.Join(do(c, c.Where), c.Close())
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

// Running is the way to the manager that runs: where --server says, or the
// daemon of this machine. It is nil where none answers; an apply that holds the
// lock for itself answers no calls.
func (f Finder) Running(ctx context.Context, o workspace.Options) (*Connection, error) {
	if f.Server != "" {
		c, err := f.dial(
			ctx,
			api.Endpoint{
				URL:           f.Server,
				CAFingerprint: f.env("FLEET_SERVER_CA"),
				Token:         strings.TrimSpace(f.env("FLEET_TOKEN")),
			},
			f.Server,
		)
		if _, unknown := errors.AsType[*tls.CertificateVerificationError](err); unknown && f.env("FLEET_SERVER_CA") == "" {
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
	c, err := f.dial(ctx, api.Endpoint{Socket: o.Place.Socket()}, holder.String())
	if _, unreachable := errors.AsType[*api.UnreachableError](err); unreachable {
		return nil, nil
	}
	return c, err
}

func (f Finder) dial(ctx context.Context, e api.Endpoint, where string) (*Connection, error) {
	client, err := api.Dial(ctx, e)
	if err != nil {
		return nil, err
	}
	version := client.About().Version
	return &Connection{
		Service: client,
		Version: version,
		Where:   where + ", version " + version,
		Close:   func() error { client.Close(); return nil },
	}, nil
}
