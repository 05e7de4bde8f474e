package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/api"
	"github.com/forgeyard/forgeyard-fleet/core/daemon"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	installation string
	apiListen    string
}

func (a *app) serveCommand() *cobra.Command {
	var flags serveFlags
	c := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "Run the manager until stopped",
		Long: "Run the manager: reconcile the applied definition, answer agents, and accept commands from this " +
			"machine over a\n" +
			"socket in the runtime directory. With --api-listen the manager also serves the HTTP API over TLS to holders of\n" +
			"an API token. The installation is named by the files in DIR or by --installation. To change the definition, use\n" +
			"apply. SIGTERM stops the manager after it has stored the results of running calls.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			options, err := a.serveOptions(c, args, flags)
			if err != nil {
				return err
			}
			return a.serve(c.Context(), options, flags)
		},
	}
	c.Flags().
		StringVar(&flags.installation, "installation", "", "name of the installation, if this folder has no fleet files")
	c.Flags().
		StringVar(&flags.apiListen, "api-listen", "",
			"HOST:PORT for the HTTP API over TLS (default: only the socket on this machine)")
	return c
}

func (a *app) serveOptions(c *cobra.Command, args []string, flags serveFlags) (workspace.Options, error) {
	if !c.Flags().Changed("log-level") {
		a.flags.logLevel = "info"
	}
	if flags.installation == "" {
		w, err := a.workspace(args)
		if err != nil {
			return workspace.Options{}, err
		}
		return a.options(w, c.CommandPath())
	}
	return a.optionsFor(flags.installation, c.CommandPath())
}

// closeAPI is what calls under way get at the end.
const closeAPI = 5 * time.Second

// serve holds the writer's lock until it is stopped.
func (a *app) serve(ctx context.Context, o workspace.Options, flags serveFlags) (err error) {
	m, err := daemon.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	settings, err := m.Settings(ctx)
	if err != nil {
		return err
	}
	agents, err := m.Listen(ctx, settings)
	if err != nil {
		return err
	}
	if err := m.Start(ctx, agents); err != nil {
		return err
	}
	stopAPI, err := a.serveAPI(ctx, m, o, flags)
	if err != nil {
		return errors.Join(err, m.Stop(a.hurry))
	}
	a.printf(
		"Serving installation %s from %s: agents at %s, this machine's users at %s\n",
		o.Installation,
		o.Place.State,
		agents.Addr(),
		o.Place.Socket(),
	)
	select {
	case <-ctx.Done():
		o.Log.Info("stopping: no new calls; waiting for the last answers")
	case <-m.Failed():
	}
	// New writes are refused first; what plugins still answer is stored after.
	err = stopAPI()
	return errors.Join(err, m.Stop(a.hurry))
}

// serveAPI answers the API until the returned function ends it.
func (a *app) serveAPI(
	ctx context.Context,
	m *daemon.Daemon,
	o workspace.Options,
	flags serveFlags,
) (stop func() error, err error) {
	handler := api.NewHandler(api.Config{
		Service: m, Authenticate: m.Authenticate, Owner: os.Getuid(), Version: a.version, Log: o.Log, Now: a.now,
	})
	socket, err := api.ListenUnix(ctx, o.Place.Socket())
	if err != nil {
		return nil, err
	}
	listeners := []net.Listener{socket}
	if flags.apiListen != "" {
		plain, err := new(net.ListenConfig).Listen(ctx, "tcp", flags.apiListen)
		if err != nil {
			return nil, errors.Join(
				fmt.Errorf("listen for the API on %s: %w; give another --api-listen", flags.apiListen, err),
				socket.Close(),
			)
		}
		listeners = append(listeners, tls.NewListener(plain, api.TLSConfig(m.ServerCertificate)))
		a.printf("API at https://%s, authority %s\n", plain.Addr(), m.Fingerprint())
	}
	server := api.NewServer(handler)
	served := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { served <- server.Serve(l) }()
	}
	return func() error {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeAPI)
		defer cancel()
		err := server.Shutdown(closing)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		for range listeners {
			if e := <-served; !errors.Is(e, http.ErrServerClosed) {
				err = errors.Join(err, e)
			}
		}
		return err
	}, nil
}
