//go:build unix

package process

import (
	"context"
	"fmt"
	"io"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
)

// The further methods of go-plugin's runner.Runner, which Child implements.

// Wait returns when the process has been reaped.
func (c *Child) Wait(context.Context) error {
	<-c.exited
	return nil
}

// Kill ends the process: go-plugin calls it when the plugin has not ended by itself.
func (c *Child) Kill(context.Context) error {
	c.KillGroup("it did not end when it was asked to")
	return nil
}

// Name is the path of the executable.
func (c *Child) Name() string { return c.command.Path }

// Stdout gives go-plugin the handshake line and nothing else.
func (c *Child) Stdout() io.ReadCloser { return c.handshake }

// Stderr gives go-plugin nothing: its parser of log lines panics, and takes the
// host with it, on a line such as {"@message":1}. The lines are read by pluginlog.
func (c *Child) Stderr() io.ReadCloser { return io.NopCloser(eof{}) }

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// Diagnose adds nothing: the error of every failed start has the last lines.
func (c *Child) Diagnose(context.Context) string { return "" }

// PluginToHost takes the address of the handshake. Both sides see the same file
// system; what is refused is an address that would lead elsewhere.
func (c *Child) PluginToHost(network, address string) (string, string, error) {
	if err := c.dir.checkSocket(network, address); err != nil {
		return "", "", fmt.Errorf(
			"it wants to be reached at %q: %w; a plugin listens on a unix socket in the directory that "+
				"PLUGIN_UNIX_SOCKET_DIR names",
			pluginlog.Truncate(pluginlog.Printable(network+" "+address), pluginlog.MaxLastLine),
			err,
		)
	}
	return network, address, nil
}

// HostToPlugin leaves an address as it is.
func (c *Child) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
