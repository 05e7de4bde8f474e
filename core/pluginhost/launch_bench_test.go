//go:build unix

package pluginhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// The two benchmarks compare this package with go-plugin as its documentation
// shows it (Cmd, AutoMTLS, SecureConfig) on the same executable. They take
// turns within one benchmark, so that a busy machine disturbs both alike, and
// compare medians.

// plainClient is go-plugin without this package.
func plainClient(b *testing.B) (*plugin.Client, providerpb.ProviderClient) {
	b.Helper()
	checksum, err := hex.DecodeString(strings.TrimPrefix(store.digest, "sha256:"))
	if err != nil {
		b.Fatal(err)
	}
	command := exec.Command(store.path)
	command.Env = []string{modeVariable + "=ignores the end"} // go-plugin passes the host's own standard input on
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			MagicCookieKey:   providerpb.MagicCookieKey,
			MagicCookieValue: providerpb.MagicCookieValue,
		},
		VersionedPlugins: map[int]plugin.PluginSet{providerpb.ProtocolVersion: {providerpb.PluginName: &testPlugin{}}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		SecureConfig:     &plugin.SecureConfig{Checksum: checksum, Hash: sha256.New()},
		Cmd:              command,
		Logger:           hclog.NewNullLogger(),
	})
	protocol, err := client.Client()
	if err != nil {
		b.Fatal(err)
	}
	return client, must(protocol.Dispense(providerpb.PluginName)).(providerpb.ProviderClient)
}

func median(durations []time.Duration) time.Duration {
	slices.Sort(durations)
	return durations[len(durations)/2]
}

func report(b *testing.B, ours, plain []time.Duration) {
	b.ReportMetric(float64(median(ours).Nanoseconds())/1e3, "ours-µs")
	b.ReportMetric(float64(median(plain).Nanoseconds())/1e3, "plain-µs")
	b.ReportMetric(float64(median(ours))/float64(median(plain)), "ratio")
}

// BenchmarkLaunch is a start to the first answer.
func BenchmarkLaunch(b *testing.B) {
	var ours, plain []time.Duration
	l := launch(b, "")
	for b.Loop() {
		began := time.Now()
		process, err := Start(b.Context(), l)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := process.rpc.GetInfo(b.Context(), &providerpb.GetInfoRequest{}); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(began))
		if err := process.Stop(5 * time.Second); err != nil {
			b.Fatal(err)
		}

		began = time.Now()
		client, rpc := plainClient(b)
		if _, err := rpc.GetInfo(b.Context(), &providerpb.GetInfoRequest{}); err != nil {
			b.Fatal(err)
		}
		plain = append(plain, time.Since(began))
		client.Kill()
	}
	report(b, ours, plain)
}

// BenchmarkRPC is one Inspect with a small answer. Ours includes the conversion
// to the domain's types.
func BenchmarkRPC(b *testing.B) {
	var ours, plain []time.Duration
	process := started(b, launch(b, ""))
	client, rpc := plainClient(b)
	defer client.Kill()
	for b.Loop() {
		began := time.Now()
		if _, err := process.Inspect(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(began))

		began = time.Now()
		if err := plainInspect(b.Context(), rpc); err != nil {
			b.Fatal(err)
		}
		plain = append(plain, time.Since(began))
	}
	report(b, ours, plain)
}

func plainInspect(ctx context.Context, rpc providerpb.ProviderClient) error {
	stream, err := rpc.Inspect(ctx, &providerpb.InspectRequest{})
	if err != nil {
		return err
	}
	for {
		if _, err := stream.Recv(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
