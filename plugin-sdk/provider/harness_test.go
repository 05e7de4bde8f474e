package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

type testConfig struct {
	Account string `fleet:"account" default:"1234"`
}

type testInstance struct {
	CPUs int `fleet:"cpus" default:"2"`
}

// scripted is a provider whose methods the test writes: what is tested is what the SDK
// makes of their results. It has no resources, unlike the providers of the conformance kit's tests.
type scripted struct {
	inspect   func(context.Context, Query) iter.Seq2[Resource, error]
	provision func(context.Context, ProvisionRequest[testInstance]) (Resource, error)
	terminate func(context.Context, Ref) (TerminateState, error)
}

func (s *scripted) Inspect(ctx context.Context, query Query) iter.Seq2[Resource, error] {
	if s.inspect == nil {
		return func(func(Resource, error) bool) {}
	}
	return s.inspect(ctx, query)
}

func (s *scripted) Provision(ctx context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
	return s.provision(ctx, request)
}

func (s *scripted) Terminate(ctx context.Context, ref Ref) (TerminateState, error) {
	return s.terminate(ctx, ref)
}

// started is a served plugin and the host's side of its connection.
type started struct {
	providerpb.ProviderClient
	market      providerpb.MarketClient
	events      providerpb.EventsClient
	identity    providerpb.IdentityVerifierClient
	permissions providerpb.PermissionsClient
	batches     providerpb.BatchProvisionerClient
	flights     *flights
}

// start serves the provider in process, configured.
func start(t testing.TB, provider Provider[testInstance]) started {
	t.Helper()
	served := startUnconfigured(t, Plugin[testConfig, testInstance]{
		Name: "test", Version: "1.0.0",
		New: func(context.Context, testConfig, Environment) (Provider[testInstance], error) { return provider, nil },
	})
	if _, err := served.Configure(t.Context(), &providerpb.ConfigureRequest{Installation: "inst"}); err != nil {
		t.Fatal(err)
	}
	return served
}

func startUnconfigured(t testing.TB, plugin Plugin[testConfig, testInstance]) started {
	t.Helper()
	compiled, err := plugin.compile()
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(&logHandler{out: &lineWriter{out: t.Output()}, level: levelTrace, module: "test"})
	service := newServer(context.Background(), plugin, compiled, logger)
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(serverOptions(logger)...)
	service.register(server)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	connection, err := grpc.NewClient("passthrough:plugin",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(providerpb.MaxMessageBytes),
			grpc.MaxCallSendMsgSize(providerpb.MaxMessageBytes)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		connection.Close()
		server.GracefulStop() // waits for the handlers: nothing of a test outlives it
		serving.Wait()
	})
	return started{
		ProviderClient: providerpb.NewProviderClient(connection), market: providerpb.NewMarketClient(connection),
		events:   providerpb.NewEventsClient(connection),
		identity: providerpb.NewIdentityVerifierClient(connection), permissions: providerpb.NewPermissionsClient(connection),
		batches: providerpb.NewBatchProvisionerClient(connection), flights: service.flights,
	}
}

// received is how a stream went.
type received[M any] struct {
	messages []*M
	err      error
}

// startForBenchmark serves a provider that lists ten thousand resources.
func startForBenchmark(b *testing.B) started {
	resources := make([]Resource, 10_000)
	for i := range resources {
		resources[i] = Resource{ID: fmt.Sprint("i-", i), Key: fmt.Sprint("k", i), State: Running,
			Tags: map[string]string{"installation": "inst"}}
	}
	return start(b, &scripted{
		inspect: listing(resources, nil),
		provision: func(_ context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
			return Resource{ID: request.Key}, nil
		},
	})
}

func receive[M any](stream grpc.ServerStreamingClient[M], err error) received[M] {
	var all received[M]
	if err != nil {
		return received[M]{err: err}
	}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			all.err = err
			return all
		}
		all.messages = append(all.messages, message)
	}
}

// provision sends the keys in one call and gives the answers by key.
func (s started) provision(t *testing.T, ctx context.Context, keys ...string) map[string]*providerpb.ProvisionResponse {
	t.Helper()
	got := receive(s.Provision(ctx, batchOf(keys...)))
	if got.err != nil {
		t.Fatalf("provision %v: %v", keys, got.err)
	}
	answers := map[string]*providerpb.ProvisionResponse{}
	for _, answer := range got.messages {
		answers[answer.Key] = answer
	}
	return answers
}

func batchOf(keys ...string) *providerpb.ProvisionRequest {
	request := &providerpb.ProvisionRequest{Fleet: "linux", InstanceDigest: "digest-1"}
	for _, key := range keys {
		request.Items = append(request.Items, &providerpb.ProvisionRequest_Item{
			Key: key, Bootstrap: &providerpb.Bootstrap{Token: "tok-secret"},
		})
	}
	return request
}

func wantOutcome(t *testing.T, got *providerpb.ProvisionResponse, outcome providerpb.ProvisionResponse_Outcome,
	class providerpb.Error_Class) {
	t.Helper()
	if got == nil {
		t.Fatal("no answer")
	}
	if got.Outcome != outcome || got.GetError().GetClass() != class {
		t.Errorf("got %v with class %v (%s), wanted %v with %v",
			got.Outcome, got.GetError().GetClass(), got.GetError().GetMessage(), outcome, class)
	}
}

// errorDetail gives the classified error of a failed RPC.
func errorDetail(t *testing.T, err error) *providerpb.Error {
	t.Helper()
	for _, detail := range status.Convert(err).Details() {
		if wire, ok := detail.(*providerpb.Error); ok {
			return wire
		}
	}
	t.Fatalf("the status has no error detail: %v", err)
	return nil
}

// within fails the test when the channel stays silent.
func within[T any](t *testing.T, channel <-chan T, what string) T {
	t.Helper()
	select {
	case value := <-channel:
		return value
	case <-time.After(10 * time.Second):
		t.Fatalf("timed out waiting for %s", what)
		panic("unreachable")
	}
}

// eventually polls a condition that no channel tells of.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// due says how many answers are owed.
func (f *flights) due() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.unanswered
}
