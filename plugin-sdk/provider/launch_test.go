//go:build unix

package provider

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// launched is a plugin's process as a host has it.
type launched struct {
	providerpb.ProviderClient
	client *plugin.Client
	stdin  *os.File // the host's end of the lifeline
	socket string
	pid    int
}

// launch starts a built plugin by go-plugin's own client with AutoMTLS. The
// environment is the least that a host may pass.
func launch(t *testing.T, command *exec.Cmd) *launched {
	t.Helper()
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	t.Cleanup(func() { ours.Close() })
	socketDirectory, err := os.MkdirTemp("", "fleet") // short: a socket's path has about 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(socketDirectory) })
	command.Env = append(command.Env, "PLUGIN_UNIX_SOCKET_DIR="+socketDirectory, "PATH="+os.Getenv("PATH"),
		"HOME="+t.TempDir())

	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: providerpb.ProtocolVersion,
			MagicCookieKey:  providerpb.MagicCookieKey, MagicCookieValue: providerpb.MagicCookieValue,
		},
		VersionedPlugins: map[int]plugin.PluginSet{providerpb.ProtocolVersion: {providerpb.PluginName: clientSide{}}},
		Cmd:              command,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		Logger:           hclog.New(&hclog.LoggerOptions{Output: t.Output(), Level: hclog.Debug}),
	})
	t.Cleanup(client.Kill)

	// go-plugin hands its own standard input on, and offers no other way.
	original := os.Stdin
	os.Stdin = theirs
	protocol, err := client.Client()
	os.Stdin = original
	if err != nil {
		t.Fatalf("launch %s: %v", command.Path, err)
	}
	dispensed, err := protocol.Dispense(providerpb.PluginName)
	if err != nil {
		t.Fatal(err)
	}
	reattach := client.ReattachConfig()
	return &launched{
		ProviderClient: dispensed.(providerpb.ProviderClient), client: client, stdin: ours,
		socket: reattach.Addr.String(), pid: reattach.Pid,
	}
}

// clientSide is the host's half of the seam.
type clientSide struct{ plugin.NetRPCUnsupportedPlugin }

func (clientSide) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this is the host's side")
}

func (clientSide) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, connection *grpc.ClientConn) (any, error) {
	return providerpb.NewProviderClient(connection), nil
}

// buildTestPlugin builds the misbehaving plugin once.
var buildTestPlugin = sync.OnceValues(func() (string, error) {
	directory, err := os.MkdirTemp("", "testplugin")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(directory, "forgeyard-plugin-testplugin")
	out, err := exec.Command("go", "build", "-o", binary, "./internal/testplugin").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return binary, nil
})

func testPluginBinary(t *testing.T) string {
	t.Helper()
	binary, err := buildTestPlugin()
	if err != nil {
		t.Fatalf("build the test plugin: %v", err)
	}
	return binary
}

func TestMain(m *testing.M) {
	if os.Getenv("FORGEYARD_TEST_AGENT") != "" {
		os.Exit(playAgent(os.Args[1:]))
	}
	code := m.Run()
	if binary, err := buildTestPlugin(); err == nil {
		os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(code)
}
