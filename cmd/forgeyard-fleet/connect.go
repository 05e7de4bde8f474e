package main

import (
	"context"
	"errors"
	"os/user"

	"github.com/forgeyard/forgeyard-fleet/core/control"
)

// connection is a way to an installation. Commands use what it offers and don't
// know which one it is.
type connection struct {
	control.Service
	// manager is set where the manager is this very process.
	manager *control.Manager
	close   func() error
}

// reader is the way for a command that only looks: the manager that runs, or the
// state directory itself.
func (a *app) reader(ctx context.Context, o control.Options) (control.Reader, func() error, error) {
	if c, err := a.running(ctx, o); err != nil || c != nil {
		if err != nil {
			return nil, nil, err
		}
		return c, c.close, nil
	}
	look, err := control.OpenToLook(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return look, look.Close, nil
}

// writer is the way for a command that changes things: the manager that runs, or
// else this process becomes it.
func (a *app) writer(ctx context.Context, o control.Options) (*connection, error) {
	if c, err := a.running(ctx, o); err != nil || c != nil {
		return c, err
	}
	m, err := control.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &connection{Service: m, manager: m, close: m.Close}, nil
}

// asLocalUser puts the user who runs this process into the context: whoever may
// open the state directory may do everything with it.
func asLocalUser(ctx context.Context) context.Context {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return control.WithCaller(ctx, control.LocalUser(name))
}

// joinClose closes what a command used, whatever came of it.
func joinClose(err *error, close func() error) { *err = errors.Join(*err, close()) }
