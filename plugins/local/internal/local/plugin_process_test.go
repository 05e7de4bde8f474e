//go:build linux || darwin

package local

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// The whole way once, with the real binary: the plugin is killed, its agent
// lives on, and the next plugin finds and ends it.
func TestAgentsOutliveThePluginAndAreFoundByTheNext(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "forgeyard-plugin-local")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../..")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := newTestMachine(t) // for its root and its cleaning up
	config, err := json.Marshal(map[string]string{"root": m.root, "runner": self})
	if err != nil {
		t.Fatal(err)
	}

	first := launchPlugin(t, binary, config)
	provisioned, err := first.Provision(t.Context(), &providerpb.ProvisionRequest{
		Fleet: "linux", InstanceJson: []byte(`{"nice": 3, "env": {"` + playVariable + `": "` + playWell + `"}}`),
		Items: []*providerpb.ProvisionRequest_Item{{Key: "k1", Bootstrap: &providerpb.Bootstrap{
			ManagerUrl: "https://127.0.0.1:7443", ServerName: "manager.inst", Token: "tok-secret",
			CaFingerprint: "sha256:" + strings.Repeat("ab", 32),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := provisioned.Recv()
	if err != nil || answer.Outcome != providerpb.ProvisionResponse_OUTCOME_CREATED {
		t.Fatalf("got %v, %v", answer, err)
	}
	eventually(t, "the agent runs", func() bool { return inspectState(t, first) == providerpb.Resource_STATE_RUNNING })
	agent := noted(m.directory("k1"), ".starts")[0]
	// linux answers 20 - nice
	if nice, err := syscall.Getpriority(syscall.PRIO_PROCESS, agent); err != nil || nice != 20-3 && nice != 3 {
		t.Errorf("priority %d, %v", nice, err)
	}

	if err := syscall.Kill(first.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the plugin is gone", first.client.Exited)
	if !runs(agent) {
		t.Fatal("the agent went with its plugin")
	}

	second := launchPlugin(t, binary, config)
	if state := inspectState(t, second); state != providerpb.Resource_STATE_RUNNING {
		t.Errorf("the next plugin sees %v", state)
	}
	terminated, err := second.Terminate(t.Context(),
		&providerpb.TerminateRequest{Refs: []*providerpb.Ref{{Id: "k1", Key: "k1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := terminated.Recv(); err != nil || answer.Outcome != providerpb.TerminateResponse_OUTCOME_GONE {
		t.Errorf("got %v, %v", answer, err)
	}
	if runs(agent) {
		t.Error("the agent still runs")
	}
}

type launchedPlugin struct {
	providerpb.ProviderClient
	client *plugin.Client
	pid    int
}

func launchPlugin(t *testing.T, binary string, config []byte) launchedPlugin {
	t.Helper()
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	t.Cleanup(func() { ours.Close() })
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: providerpb.ProtocolVersion,
			MagicCookieKey: providerpb.MagicCookieKey, MagicCookieValue: providerpb.MagicCookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{providerpb.ProtocolVersion: {providerpb.PluginName: hostSide{}}},
		Cmd:              exec.Command(binary), AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, AutoMTLS: true,
		Logger: hclog.New(&hclog.LoggerOptions{Output: t.Output(), Level: hclog.Info}),
	})
	t.Cleanup(client.Kill)
	original := os.Stdin // go-plugin hands its own standard input on
	os.Stdin = theirs
	protocol, err := client.Client()
	os.Stdin = original
	if err != nil {
		t.Fatal(err)
	}
	dispensed, err := protocol.Dispense(providerpb.PluginName)
	if err != nil {
		t.Fatal(err)
	}
	launched := launchedPlugin{ProviderClient: dispensed.(providerpb.ProviderClient), client: client,
		pid: client.ReattachConfig().Pid}
	configured, err := launched.Configure(t.Context(),
		&providerpb.ConfigureRequest{Installation: "inst", ProviderJson: config, StateDir: t.TempDir()})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatalf("got %v, %v", configured, err)
	}
	return launched
}

func inspectState(t *testing.T, host launchedPlugin) providerpb.Resource_State {
	t.Helper()
	stream, err := host.Inspect(t.Context(), &providerpb.InspectRequest{Keys: []string{"k1"}})
	if err != nil {
		t.Fatal(err)
	}
	state := providerpb.Resource_STATE_UNSPECIFIED
	for {
		page, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return state
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range page.Resources {
			state = resource.State
		}
	}
}

type hostSide struct{ plugin.NetRPCUnsupportedPlugin }

func (hostSide) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this is the host's side")
}

func (hostSide) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, connection *grpc.ClientConn) (any, error) {
	return providerpb.NewProviderClient(connection), nil
}
