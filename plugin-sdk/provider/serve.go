package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// finishTime is how long calls under way may continue once the host is gone. A
// plugin must be gone within five seconds of its host.
const finishTime = 3 * time.Second

// Serve is all of a plugin's main function. It doesn't return.
//
// Started by the host it serves the plugin until the host says stop or is gone.
// Started by a person it answers --describe (JSON of GetInfo) and --version, and
// otherwise says what it is. A faulty declaration is told before anything else.
//
// Standard output belongs to the handshake: print nothing before Serve.
func Serve[C, I any](p Plugin[C, I]) {
	os.Exit(run(p, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

func run[C, I any](
	p Plugin[C, I], arguments []string, getenv func(string) string, stdout, stderr io.Writer,
) (exitCode int) {
	// First of all: a child that inherited this descriptor would hold the
	// launch's lock for as long as it lives.
	if err := keepLaunchLock(getenv(providerpb.LaunchLockEnv)); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	compiled, err := p.compile()
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	switch {
	case len(arguments) == 1 && arguments[0] == "--version":
		fmt.Fprintln(stdout, p.Version)
		return 0
	case len(arguments) == 1 && arguments[0] == "--describe":
		return describe(p.info(compiled), stdout, stderr)
	case getenv(providerpb.MagicCookieKey) != providerpb.MagicCookieValue:
		fmt.Fprintf(stderr, refusal, p.Name, p.Version, p.Name)
		return 1
	}
	serve(p, compiled, getenv, stderr)
	return 0
}

const refusal = `This is the provider plugin %q (version %s) of forgeyard-fleet.
It is started by forgeyard-fleet and does nothing when it is run by hand.

To use it, put it in a folder and run
  forgeyard-fleet plugin install --dev FOLDER
then name it in fleet.hcl:
  provider %q { ... }

--describe prints its schemas as JSON, --version its version.
`

func describe(info *providerpb.GetInfoResponse, stdout, stderr io.Writer) int {
	content, err := protojson.MarshalOptions{Multiline: true}.Marshal(info)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintln(stdout, string(content))
	return 0
}

// serve returns when the host has said stop, or is gone and the calls under
// way have ended or had their time.
func serve[C, I any](p Plugin[C, I], compiled blocks, getenv func(string) string, stderr io.Writer) {
	lines := &lineWriter{out: stderr}
	level := parseLevel(getenv(providerpb.LogLevelEnv))
	logger := slog.New(&logHandler{out: lines, level: level, module: p.Name})
	lifetime, end := context.WithCancel(context.Background())
	defer end()
	outliveSignals()

	service := newServer(lifetime, p, compiled, logger)
	finish := sync.OnceFunc(service.finish) // both ways to the end wait for it, once
	listening := make(chan *grpc.Server, 1)
	go func() {
		grpcServer := <-listening
		awaitEnd(os.Stdin)
		logger.Info("standard input has ended: the host is gone")
		finish()
		grpcServer.Stop() // removes the socket, and ends plugin.Serve
	}()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  providerpb.ProtocolVersion,
			MagicCookieKey:   providerpb.MagicCookieKey,
			MagicCookieValue: providerpb.MagicCookieValue,
		},
		VersionedPlugins: map[int]plugin.PluginSet{
			providerpb.ProtocolVersion: {providerpb.PluginName: &grpcPlugin{register: service.register}},
		},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			grpcServer := grpc.NewServer(append(options, serverOptions(logger)...)...)
			listening <- grpcServer
			return grpcServer
		},
		Logger: transportLogger(lines, level, p.Name),
	})
	finish()
}

// finish lets calls under way end, for a bounded time.
func (s *server[C, I]) finish() {
	bounded, cancel := context.WithTimeout(s.lifetime, finishTime)
	defer cancel()
	if left := s.flights.drain(bounded); left > 0 {
		s.logger.Warn("stopping with calls under way; their outcome is unknown", "calls", left)
	}
}

// awaitEnd returns when the pipe ends. The host never writes to it.
func awaitEnd(pipe io.Reader) {
	_, _ = io.Copy(io.Discard, pipe)
}

// grpcPlugin is go-plugin's seam; the client's side of it lives in the host.
type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	register func(grpc.ServiceRegistrar)
}

func (p *grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, registrar *grpc.Server) error {
	p.register(registrar)
	return nil
}

func (p *grpcPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("this side serves the plugin; the host has the client")
}
