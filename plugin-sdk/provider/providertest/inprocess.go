package providertest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Processes says that there are none.
func (Launcher) Processes() bool { return false }

// Start serves the plugin on a connection in memory.
func (l Launcher) Start(_ context.Context, _ bool) (conformance.Running, error) {
	r := &running{}
	var err error
	if r.plugin, err = l(&r.logs); err != nil {
		return nil, err
	}
	listener := bufconn.Listen(1 << 20)
	r.server = grpc.NewServer(r.plugin.Options...)
	providerpb.RegisterProviderServer(r.server, r.plugin.Service)
	if r.plugin.Identity != nil {
		providerpb.RegisterIdentityVerifierServer(r.server, r.plugin.Identity)
	}
	if r.plugin.Permissions != nil {
		providerpb.RegisterPermissionsServer(r.server, r.plugin.Permissions)
	}
	if r.plugin.Batches != nil {
		providerpb.RegisterBatchProvisionerServer(r.server, r.plugin.Batches)
	}
	if r.plugin.Market != nil {
		providerpb.RegisterMarketServer(r.server, r.plugin.Market)
	}
	if r.plugin.Attestations != nil {
		providerpb.RegisterAttestationsServer(r.server, r.plugin.Attestations)
	}
	if r.plugin.Checker != nil {
		providerpb.RegisterCheckerServer(r.server, r.plugin.Checker)
	}
	r.serving.Go(func() { _ = r.server.Serve(listener) })
	r.connection, err = grpc.NewClient("passthrough:plugin",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(providerpb.MaxMessageBytes),
			grpc.MaxCallSendMsgSize(providerpb.MaxMessageBytes)))
	if err != nil {
		r.server.Stop()
		r.serving.Wait()
		return nil, fmt.Errorf("connect to the plugin: %w", err)
	}
	return r, nil
}

// running is one served plugin.
type running struct {
	plugin     provider.InProcess
	server     *grpc.Server
	connection *grpc.ClientConn
	serving    sync.WaitGroup
	logs       lines
}

func (r *running) Connection() grpc.ClientConnInterface { return r.connection }

func (r *running) Stop() error {
	r.Kill()
	return nil
}

// Kill breaks the connection at once. Calls can't be killed within a
// process, so their end is waited for: they take effect, and their answers are lost.
func (r *running) Kill() {
	_ = r.connection.Close()
	r.server.Stop()
	r.plugin.End()
	r.serving.Wait()
}

func (r *running) Said() []conformance.Line { return r.logs.all() }

// lines gathers what is logged.
type lines struct {
	mutex   sync.Mutex
	content bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.content.Write(text)
}

func (l *lines) all() []conformance.Line {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var all []conformance.Line
	for line := range strings.Lines(l.content.String()) {
		all = append(all, conformance.Line{Text: strings.TrimSuffix(line, "\n")})
	}
	return all
}
