package provider

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

const (
	created    = providerpb.ProvisionResponse_OUTCOME_CREATED
	existed    = providerpb.ProvisionResponse_OUTCOME_EXISTED
	accepted   = providerpb.ProvisionResponse_OUTCOME_ACCEPTED
	nothing    = providerpb.ProvisionResponse_OUTCOME_NOT_CREATED
	unknown    = providerpb.ProvisionResponse_OUTCOME_UNKNOWN
	noClass    = providerpb.Error_CLASS_UNSPECIFIED
	transient  = providerpb.Error_CLASS_TRANSIENT
	internalPB = providerpb.Error_CLASS_INTERNAL
)

func TestAuthorsReturnBecomesAnOutcome(t *testing.T) {
	for name, test := range map[string]struct {
		resource Resource
		err      error
		outcome  providerpb.ProvisionResponse_Outcome
		class    providerpb.Error_Class
	}{
		"a resource is created":                     {Resource{ID: "i-1"}, nil, created, noClass},
		"a resource that existed":                   {Resource{ID: "i-1", Existed: true}, nil, existed, noClass},
		"pending without an id is accepted":         {Resource{State: Pending}, nil, accepted, noClass},
		"running without an id is the plugin's bug": {Resource{State: Running}, nil, unknown, internalPB},
		"another key is the plugin's bug":           {Resource{ID: "i-1", Key: "other"}, nil, unknown, internalPB},
		"a plain error is unknown":                  {Resource{}, errors.New("reset by peer"), unknown, transient},
		"a classified error is unknown too": {Resource{}, &Error{Class: Auth, Err: errors.New("no")}, unknown,
			providerpb.Error_CLASS_AUTH},
		"not created is certain": {Resource{}, NotCreated(Capacity, errors.New("none left")), nothing,
			providerpb.Error_CLASS_CAPACITY},
		"not created survives wrapping": {Resource{},
			fmt.Errorf("zone a: %w", NotCreated(Quota, errors.New("full"))), nothing, providerpb.Error_CLASS_QUOTA},
		"not created joined with more is uncertain": {Resource{},
			errors.Join(NotCreated(Quota, errors.New("full")), errors.New("clean-up failed")), unknown,
			providerpb.Error_CLASS_QUOTA},
		"an error beats a resource": {Resource{ID: "i-1"}, errors.New("tagging failed"), unknown,
			transient},
		"not created without a cause stays a claim":     {Resource{}, NotCreated(Transient, nil), nothing, transient},
		"an unset class of a claim is transient":        {Resource{}, NotCreated(0, errors.New("x")), nothing, transient},
		"a deadline of the plugin's own claims nothing": {Resource{}, context.DeadlineExceeded, unknown, transient},
	} {
		t.Run(name, func(t *testing.T) {
			host := start(t, &scripted{provision: func(context.Context, ProvisionRequest[testInstance]) (Resource, error) {
				return test.resource, test.err
			}})
			got := host.provision(t, t.Context(), "k1")["k1"]
			wantOutcome(t, got, test.outcome, test.class)
			if (got.Resource != nil) != (test.outcome == created || test.outcome == existed || test.outcome == accepted) {
				t.Errorf("resource is %v", got.Resource)
			}
		})
	}
}

func TestErrorDetailsCrossTheWire(t *testing.T) {
	host := start(t, &scripted{provision: func(context.Context, ProvisionRequest[testInstance]) (Resource, error) {
		return Resource{},
			NotCreated(RateLimit,
				&Error{RetryAfter: 90 * time.Second, Zone: "a", MachineType: "m1", RequestID: "r-7", Err: errors.New("slow down")})
	}})
	got := host.provision(t, t.Context(), "k1")["k1"].Error
	if got.RetryAfter.AsDuration() != 90*time.Second || got.Zone != "a" || got.MachineType != "m1" ||
		got.RequestId != "r-7" || got.Message != "slow down" {
		t.Errorf("got %v", got)
	}
}

func TestRequestReachesTheAuthorWhole(t *testing.T) {
	requests := make(chan ProvisionRequest[testInstance], 1)
	host := start(t,
		&scripted{provision: func(_ context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
			requests <- request
			return Resource{ID: "i-1"}, nil
		}})
	got := receive(host.Provision(t.Context(), &providerpb.ProvisionRequest{
		Fleet: "linux", InstanceJson: []byte(`{"cpus": 8}`), InstanceDigest: "d", Image: "img",
		Platform: &providerpb.Platform{Os: "linux", Arch: "arm64"},
		Offers: []*providerpb.Offer{{
			Zone: "a", Region: "r", MachineType: "m", Lifetime: "stable",
			Resources: &providerpb.Resources{CpuMilli: 4000, MemoryBytes: 16, DiskBytes: 100,
				Named: map[string]int64{"license": 1}},
			Price:        &providerpb.Price{Currency: "USD", MicrosPerHour: 192_000, Estimate: true},
			BillingGrain: durationpb.New(time.Second), MinimumCommitment: durationpb.New(time.Minute),
			Available: proto.Uint32(7),
		}},
		Items: []*providerpb.ProvisionRequest_Item{{
			Key: "k1", Name: "n", Tags: map[string]string{"a": "b"}, Asset: "serial",
			Bootstrap: &providerpb.Bootstrap{Kind: "file", ManagerUrl: "https://m", CaFingerprint: "f", Token: "t",
				AgentUrl: "u", AgentSha256: "s", ServerName: "sn"},
		}},
	}))
	if got.err != nil {
		t.Fatal(got.err)
	}
	request := <-requests
	left := uint32(7)
	offers := []Offer{{
		Zone: "a", Region: "r", MachineType: "m", Lifetime: "stable",
		Resources: Resources{CPUMilli: 4000, MemoryBytes: 16, DiskBytes: 100, Named: map[string]int64{"license": 1}},
		Price:     Price{Currency: "USD", MicrosPerHour: 192_000, Estimate: true}, BillingGrain: time.Second,
		MinimumCommitment: time.Minute, Available: &left,
	}}
	if !reflect.DeepEqual(request.Offers, offers) {
		t.Errorf("got offers %+v, want %+v", request.Offers, offers)
	}
	text := fmt.Sprintf("%s %s %s %s %v %v %s %v %s", request.Key, request.Name, request.Fleet, request.Image,
		request.Platform, request.Tags, request.Asset, request.Instance, request.InstanceDigest)
	if want := "k1 n linux img {linux arm64} map[a:b] serial {8} d"; text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	b := request.Bootstrap
	if b.Kind != "file" || b.ManagerURL != "https://m" || b.CAFingerprint != "f" || b.Token != "t" || b.AgentURL != "u" ||
		b.AgentSHA256 != "s" || b.ServerName != "sn" {
		t.Error("the bootstrap document isn't whole")
	}
	if resource := got.messages[0].Resource; resource.Key != "k1" || resource.Fleet != "linux" ||
		resource.InstanceDigest != "d" || resource.Kind != "instance" {
		t.Errorf("got resource %v", resource)
	}
}

func TestPanicCostsOneItemAndNotTheProcess(t *testing.T) {
	host := start(t,
		&scripted{provision: func(_ context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
			if request.Key == "bad" {
				var offers []Offer
				return Resource{ID: offers[len(request.Offers)].Zone}, nil
			}
			return Resource{ID: "i-" + request.Key}, nil
		}})
	answers := host.provision(t, t.Context(), "good", "bad")
	wantOutcome(t, answers["good"], created, noClass)
	wantOutcome(t, answers["bad"], unknown, internalPB)
	wantOutcome(t, host.provision(t, t.Context(), "later")["later"], created, noClass)
}

func TestBootstrapTokenIsTakenOutOfErrors(t *testing.T) {
	host := start(t,
		&scripted{provision: func(_ context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
			if request.Key == "panics" {
				panic("user data " + request.Bootstrap.Token)
			}
			return Resource{}, errors.New("bad user data: " + request.Bootstrap.Token)
		}})
	for key, answer := range host.provision(t, t.Context(), "fails", "panics") {
		if message := answer.Error.Message; strings.Contains(message, "tok-secret") {
			t.Errorf("%s: the token is in %q", key, message)
		}
	}
}

func TestInvalidInstanceBlockCreatesNothing(t *testing.T) {
	host := start(t, &scripted{provision: func(context.Context, ProvisionRequest[testInstance]) (Resource, error) {
		t.Error("the provider was called")
		return Resource{}, nil
	}})
	request := batchOf("k1")
	request.InstanceJson = []byte(`{"cpu": 1}`)
	got := receive(host.Provision(t.Context(), request))
	wantOutcome(t, got.messages[0], nothing, providerpb.Error_CLASS_INVALID)
	if message := got.messages[0].Error.Message; !strings.Contains(message, `"cpu" is not expected here`) {
		t.Errorf("got %q", message)
	}
}

// Authors put keys into paths.
func TestKeyThatIsNoNameCreatesNothing(t *testing.T) {
	host := start(t, &scripted{provision: func(context.Context, ProvisionRequest[testInstance]) (Resource, error) {
		t.Error("the provider was called")
		return Resource{}, nil
	}})
	for _, key := range []string{"", "..", "a/b", "-x", "UPPER", strings.Repeat("k", 64)} {
		wantOutcome(t, host.provision(t, t.Context(), key)[key], nothing, providerpb.Error_CLASS_INVALID)
	}
}

// A slow item must not hold back the answer of a quick one.
func TestEachItemAnswersWhenItIsDone(t *testing.T) {
	release := make(chan struct{})
	host := start(t,
		&scripted{provision: func(_ context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
			if request.Key == "slow" {
				<-release
			}
			return Resource{ID: request.Key}, nil
		}})
	stream, err := host.Provision(t.Context(), batchOf("slow", "quick"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil || first.Key != "quick" {
		t.Fatalf("first answer is %v, %v", first, err)
	}
	close(release)
	if second, err := stream.Recv(); err != nil || second.Key != "slow" {
		t.Fatalf("second answer is %v, %v", second, err)
	}
}

func TestBatchRunsBoundedInParallel(t *testing.T) {
	var running, most atomic.Int32
	full := make(chan struct{})
	reached := sync.OnceFunc(func() { close(full) })
	host := start(t,
		&scripted{provision: func(_ context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
			now := running.Add(1)
			defer running.Add(-1)
			for {
				seen := most.Load()
				if now <= seen || most.CompareAndSwap(seen, now) {
					break
				}
			}
			if now == defaultParallel {
				reached()
			}
			<-full // none ends before the bound is reached
			return Resource{ID: request.Key}, nil
		}})
	var keys []string
	for i := range 3 * defaultParallel {
		keys = append(keys, fmt.Sprintf("k%02d", i))
	}
	if answers := host.provision(t, t.Context(), keys...); len(answers) != len(keys) {
		t.Errorf("%d answers for %d items", len(answers), len(keys))
	}
	if most.Load() != defaultParallel {
		t.Errorf("at most %d ran at once, wanted %d", most.Load(), defaultParallel)
	}
}

func TestSameKeyAtOnceIsOneCallWithOneAnswer(t *testing.T) {
	var calls atomic.Int32
	entered, release := make(chan struct{}), make(chan struct{})
	host := start(t,
		&scripted{provision: func(_ context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
			calls.Add(1)
			close(entered)
			<-release
			return Resource{ID: "i-1"}, nil
		}})
	answers := make(chan received[providerpb.ProvisionResponse], 2)
	ask := func() { answers <- receive(host.Provision(t.Context(), batchOf("k1"))) }
	go ask()
	within(t, entered, "the first call")
	go ask()
	eventually(t, "both answers are due", func() bool { return host.flights.due() == 2 })
	close(release)
	for range 2 {
		got := within(t, answers, "an answer")
		if got.err != nil || len(got.messages) != 1 || got.messages[0].Resource.Id != "i-1" {
			t.Errorf("got %v", got)
		}
	}
	if calls.Load() != 1 {
		t.Errorf("the provider was called %d times", calls.Load())
	}
}

// Cancelling loses the answer, so it must not also lose the machine.
func TestCancelledCallFinishesInThePlugin(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	host := start(t,
		&scripted{provision: func(ctx context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
			close(entered)
			<-release
			ended <- ctx.Err()
			return Resource{ID: "i-1"}, nil
		}})
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := host.Provision(ctx, batchOf("k1"))
	if err != nil {
		t.Fatal(err)
	}
	within(t, entered, "the call")
	cancel()
	if _, err := stream.Recv(); err == nil {
		t.Fatal("an answer came through a cancelled call")
	}
	// The host asks by key over the same connection: the key is in flight.
	look := receive(host.Inspect(t.Context(), &providerpb.InspectRequest{Keys: []string{"k1"}}))
	if last := look.messages[0]; len(last.InFlightKeys) != 1 || len(last.AbsentKeys) != 0 {
		t.Errorf("in flight %v, absent %v", last.InFlightKeys, last.AbsentKeys)
	}
	close(release)
	if err := within(t, ended, "the call's end"); err != nil {
		t.Errorf("the author's context was ended with the call: %v", err)
	}
}

// What queues behind the batch's bound when the host gives up must never begin:
// the host will look, and must not be overtaken by a create after its look.
func TestQueuedItemOfACancelledCallNeverBegins(t *testing.T) {
	var calls atomic.Int32
	entered, release := make(chan struct{}, defaultParallel), make(chan struct{})
	host := start(t,
		&scripted{provision: func(_ context.Context, request ProvisionRequest[testInstance]) (Resource, error) {
			calls.Add(1)
			entered <- struct{}{}
			<-release
			return Resource{ID: request.Key}, nil
		}})
	var keys []string
	for i := range defaultParallel + 3 {
		keys = append(keys, fmt.Sprintf("k%02d", i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := host.Provision(ctx, batchOf(keys...))
	if err != nil {
		t.Fatal(err)
	}
	for range defaultParallel {
		within(t, entered, "a call")
	}
	cancel()
	if _, err := stream.Recv(); err == nil {
		t.Fatal("an answer came through a cancelled call")
	}
	look := receive(host.Inspect(t.Context(), &providerpb.InspectRequest{Keys: keys}))
	if got := len(look.messages[0].InFlightKeys); got != len(keys) {
		t.Errorf("%d keys in flight while all may still run, wanted %d", got, len(keys))
	}
	close(release)
	eventually(t, "every item is over", func() bool { return host.flights.due() == 0 })
	if calls.Load() != defaultParallel {
		t.Errorf("%d calls began, wanted the %d from before the cancel", calls.Load(), defaultParallel)
	}
}
