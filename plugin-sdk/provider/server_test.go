package provider

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

type newTest = func(context.Context, testConfig, Environment) (Provider[testInstance], error)

func testPlugin(construct newTest) Plugin[testConfig, testInstance] {
	return Plugin[testConfig, testInstance]{
		Name: "test", Version: "1.2.3", New: construct,
		Idempotency: IdempotentByTag, Ownership: OwnershipNamed, ListSettle: 5 * time.Second, MaxBatch: 20,
	}
}

func TestGetInfoDescribesThePlugin(t *testing.T) {
	host := startUnconfigured(t,
		testPlugin(func(context.Context, testConfig, Environment) (Provider[testInstance], error) {
			return &scripted{}, nil
		}))
	info, err := host.GetInfo(t.Context(), &providerpb.GetInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Name != "test" || info.Version != "1.2.3" || info.Sdk != "go "+SDKVersion || info.MaxBatch != 20 ||
		info.Idempotency != providerpb.Idempotency_IDEMPOTENCY_BY_TAG ||
		info.Ownership != providerpb.Ownership_OWNERSHIP_NAMED ||
		info.ListSettle.AsDuration() != 5*time.Second ||
		info.ProviderSchema.Attributes[0].Name != "account" || info.InstanceSchema.Attributes[0].Name != "cpus" {
		t.Errorf("got %v", info)
	}
}

func TestValidateWorksBeforeConfigure(t *testing.T) {
	host := startUnconfigured(t,
		testPlugin(func(context.Context, testConfig, Environment) (Provider[testInstance], error) {
			t.Error("New was called")
			return nil, nil
		}))
	got, err := host.Validate(t.Context(), &providerpb.ValidateRequest{
		ProviderJson: []byte(`{"acount": "x"}`),
		InstanceJson: map[string][]byte{"good": []byte(`{}`), "bad": []byte(`{"cpus": "many"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Provider) != 1 || got.Provider[0].Path[0].GetName() != "acount" ||
		got.Provider[0].Severity != providerpb.Diagnostic_SEVERITY_ERROR {
		t.Errorf("provider: %v", got.Provider)
	}
	if len(got.Instances["good"].Items) != 0 || len(got.Instances["bad"].Items) != 1 {
		t.Errorf("instances: %v", got.Instances)
	}
}

func TestConfigureBindsOnce(t *testing.T) {
	environments := make(chan Environment, 1)
	host := startUnconfigured(t,
		testPlugin(func(_ context.Context, config testConfig, environment Environment) (Provider[testInstance], error) {
			environment.SetAccount("account " + config.Account)
			environments <- environment
			return &scripted{}, nil
		}))
	request := &providerpb.ConfigureRequest{Installation: "inst", StateDir: "/state"}
	got, err := host.Configure(t.Context(), request)
	if err != nil || got.Account != "account 1234" || len(got.Diagnostics) != 0 {
		t.Fatalf("got %v, %v", got, err)
	}
	if environment := <-environments; environment.Installation != "inst" || environment.StateDir != "/state" ||
		environment.Logger == nil {
		t.Errorf("got %+v", environment)
	}
	if _, err := host.Configure(t.Context(), request); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("the second Configure: %v", err)
	}
}

func TestConfigureTellsWhatIsWrong(t *testing.T) {
	var answer error
	host := startUnconfigured(t,
		testPlugin(func(context.Context, testConfig, Environment) (Provider[testInstance], error) {
			return nil, answer
		}))
	got, err := host.Configure(t.Context(), &providerpb.ConfigureRequest{ProviderJson: []byte(`{"acount": "x"}`)})
	if err != nil || len(got.Diagnostics) != 1 {
		t.Errorf("an unknown attribute: %v, %v", got, err)
	}
	answer = Diagnostic{Summary: "No such account", Path: At("account")}
	got, err = host.Configure(t.Context(), &providerpb.ConfigureRequest{})
	if err != nil || len(got.Diagnostics) != 1 || got.Diagnostics[0].Path[0].GetName() != "account" {
		t.Errorf("a diagnostic of New: %v, %v", got, err)
	}
	answer = &Error{Class: Auth, Err: errors.New("bad credentials")}
	if _, err = host.Configure(t.Context(),
		&providerpb.ConfigureRequest{}); errorDetail(t, err).Class != providerpb.Error_CLASS_AUTH {
		t.Errorf("a classified error of New: %v", err)
	}
	answer = nil
	if _, err = host.Configure(t.Context(), &providerpb.ConfigureRequest{}); errorDetail(t, err).Class != internalPB {
		t.Errorf("neither provider nor error: %v", err)
	}
}

func TestNothingBeginsBeforeConfigure(t *testing.T) {
	host := startUnconfigured(t,
		testPlugin(func(context.Context, testConfig, Environment) (Provider[testInstance], error) {
			return &scripted{}, nil
		}))
	if got := receive(host.Provision(t.Context(), batchOf("k1"))); status.Code(got.err) != codes.FailedPrecondition {
		t.Errorf("Provision: %v", got.err)
	}
	if got := receive(host.Inspect(t.Context(), &providerpb.InspectRequest{})); status.Code(
		got.err) != codes.FailedPrecondition {
		t.Errorf("Inspect: %v", got.err)
	}
	if got := receive(host.Terminate(t.Context(), &providerpb.TerminateRequest{})); status.Code(
		got.err) != codes.FailedPrecondition {
		t.Errorf("Terminate: %v", got.err)
	}
}

// go-plugin leaves the plugin's side at 4 MiB.
func TestMessageOfMoreThanFourMebibytesIsTaken(t *testing.T) {
	host := start(t,
		&scripted{provision: func(_ context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
			return Resource{ID: "i-1"}, nil
		}})
	request := batchOf("k1")
	request.Items[0].Tags = map[string]string{"big": strings.Repeat("x", 8<<20)}
	if got := receive(host.Provision(t.Context(), request)); got.err != nil {
		t.Error(got.err)
	}
}

func TestDrainAnswersWhatRunsAndBeginsNothing(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	host := start(t, &scripted{
		provision: func(_ context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
			close(entered)
			<-release
			return Resource{ID: "i-1"}, nil
		},
		terminate: func(context.Context, Ref) (TerminateState, error) {
			t.Error("a removal began")
			return Gone, nil
		},
	})
	answers := make(chan received[providerpb.ProvisionResponse], 1)
	go func() { answers <- receive(host.Provision(t.Context(), batchOf("k1"))) }()
	within(t, entered, "the call")

	// The deadline passes: the call is still counted.
	drained, err := host.Drain(t.Context(), &providerpb.DrainRequest{Deadline: durationpb.New(time.Millisecond)})
	if err != nil || drained.InFlight != 1 {
		t.Fatalf("got %v, %v", drained, err)
	}
	wantOutcome(t, host.provision(t, t.Context(), "k2")["k2"], nothing, transient)
	removal := receive(host.Terminate(t.Context(), &providerpb.TerminateRequest{Refs: []*providerpb.Ref{{Key: "k3"}}}))
	if removal.messages[0].Outcome != providerpb.TerminateResponse_OUTCOME_UNKNOWN {
		t.Errorf("got %v", removal.messages[0])
	}

	drains := make(chan *providerpb.DrainResponse, 1)
	go func() {
		drained, err := host.Drain(t.Context(), &providerpb.DrainRequest{})
		if err != nil {
			t.Error(err)
		}
		drains <- drained
	}()
	eventually(t, "Drain waits", func() bool { return host.flights.someoneWaits() })
	close(release)
	if drained := within(t, drains, "the end of Drain"); drained.GetInFlight() != 0 {
		t.Errorf("got %v", drained)
	}
	wantOutcome(t, within(t, answers, "the answer").messages[0], created, noClass)
}

func (f *flights) someoneWaits() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.quiet != nil
}

func BenchmarkProvisionOverTheWire(b *testing.B) {
	host := startForBenchmark(b)
	request := batchOf("k1")
	b.ReportAllocs()
	for b.Loop() {
		if got := receive(host.Provision(b.Context(), request)); got.err != nil {
			b.Fatal(got.err)
		}
	}
}

func BenchmarkInspectTenThousand(b *testing.B) {
	host := startForBenchmark(b)
	for b.Loop() {
		if got := receive(host.Inspect(b.Context(), &providerpb.InspectRequest{})); got.err != nil {
			b.Fatal(got.err)
		}
	}
}
