//go:build unix

package pluginhost

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
)

// Some of go-plugin's faults are on ways that this package doesn't take. That it
// doesn't is a property of the one configuration of its client.
func TestTheClientTakesNoneOfGoPluginsFaultyWays(t *testing.T) {
	l := launch(t, "").withDefaults()
	dir, err := process.NewDirectory(l.RunDir, l.Plugin)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Remove()
	redactor := &pluginlog.Redactor{}
	child := newChild(l, nil, dir, pluginlog.New(l.Logger, redactor, nil))
	config := clientConfig(l, child, dir, redactor)
	for fault, wrong := range map[string]bool{
		"Cmd ignores the socket directory, hands on the terminal and the environment": config.Cmd != nil,
		"SecureConfig can't check what a runner starts":                               config.SecureConfig != nil,
		"a reattached plugin is a stored pid, and has no certificate":                 config.Reattach != nil,
		"the broker's multiplexing depends on an order of calls":                      config.GRPCBrokerMultiplex,
		"the host's environment overrides the plugin's":                               !config.SkipHostEnv,
		"without certificates any client of the socket is answered": !config.AutoMTLS ||
			config.TLSConfig != nil,
		"net/rpc has no deadlines": !slices.Equal(config.AllowedProtocols,
			[]plugin.Protocol{plugin.ProtocolGRPC}),
		"sockets lie in /tmp": config.UnixSocketConfig == nil ||
			config.UnixSocketConfig.TempDir != dir.Path || config.UnixSocketConfig.Group != "",
		"port 10000 is taken always":                                 config.MinPort != 0 || config.MaxPort != 1,
		"a first start waits for a malware scanner":                  config.StartTimeout < DefaultStartTimeout,
		"a managed client lives until somebody calls CleanupClients": config.Managed,
		"its parser of log lines panics":                             config.Stderr != nil,
	} {
		if wrong {
			t.Errorf("the client's configuration meets a fault: %s", fault)
		}
	}
	// The socket directory leaks where the runner can't be made: ours always can.
	if runner, err := config.RunnerFunc(
		hclog.NewNullLogger(),
		exec.Command(""),
		dir.Path,
	); err != nil ||
		runner != child {
		t.Errorf("RunnerFunc gives %v, %v", runner, err)
	}
}

// withoutBrokerStream opens the broker's stream as go-plugin does.
func withoutBrokerStream(ctx context.Context, p *Process) (grpc.ClientStream, error) {
	return p.conn.NewStream(
		ctx,
		&grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		"/plugin.GRPCBroker/StartStream",
	)
}

func numberOf(t *testing.T, text string) int {
	t.Helper()
	number, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return number
}
