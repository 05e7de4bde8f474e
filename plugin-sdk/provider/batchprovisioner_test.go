package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

const batchKey = "b1"

// caterer is a provider that makes batches.
type caterer struct {
	notary
	serve func(context.Context, BatchRequest[testInstance]) ([]Resource, error)
}

func (c *caterer) ProvisionBatch(ctx context.Context, request BatchRequest[testInstance]) ([]Resource, error) {
	return c.serve(ctx, request)
}

// catering are plugins that make batches.
func catering(provider Provider[testInstance]) Plugin[testConfig, testInstance] {
	p := testPlugin(func(context.Context, testConfig, Environment) (Provider[testInstance], error) {
		return provider, nil
	})
	p.Identity, p.Batches, p.Idempotency = true, true, IdempotentNative
	return p
}

func startCaterer(t *testing.T, provider *caterer) started {
	t.Helper()
	host := startUnconfigured(t, catering(provider))
	if _, err := host.Configure(t.Context(), &providerpb.ConfigureRequest{}); err != nil {
		t.Fatal(err)
	}
	return host
}

// batchFor asks for a batch of the keys.
func batchFor(keys ...string) *providerpb.ProvisionBatchRequest {
	request := batchOf(keys...)
	for n, item := range request.Items {
		item.Bootstrap, item.Name, item.Tags = nil, "name-"+item.Key, map[string]string{"number": fmt.Sprint(n)}
	}
	return &providerpb.ProvisionBatchRequest{Key: batchKey, Request: request,
		Bootstrap: &providerpb.Bootstrap{Token: "tok-secret"}}
}

// ask sends a batch and gives the answers by key.
func (s started) ask(t *testing.T, ctx context.Context,
	request *providerpb.ProvisionBatchRequest) map[string]*providerpb.ProvisionResponse {
	t.Helper()
	got := receive(s.batches.ProvisionBatch(ctx, request))
	if got.err != nil {
		t.Fatal(got.err)
	}
	answers := map[string]*providerpb.ProvisionResponse{}
	for _, answer := range got.messages {
		if answers[answer.Key] != nil {
			t.Errorf("%s is answered twice", answer.Key)
		}
		answers[answer.Key] = answer
	}
	if len(answers) != len(request.Request.Items) {
		t.Errorf("%d answers for %d members", len(answers), len(request.Request.Items))
	}
	return answers
}

// each makes one instance for each member.
func each(request BatchRequest[testInstance]) []Resource {
	var all []Resource
	for _, member := range request.Members {
		all = append(all, Resource{ID: "i-" + member.Key, Key: member.Key, State: Running, Tags: member.Tags})
	}
	return all
}

func TestABatchArrivesWholeAndEachMemberHasItsAnswer(t *testing.T) {
	host := startCaterer(t, &caterer{serve: func(_ context.Context, r BatchRequest[testInstance]) ([]Resource, error) {
		if r.Key != batchKey || r.Fleet != "linux" || r.Instance.CPUs != 2 || r.Bootstrap.Token != "tok-secret" ||
			len(r.Members) != 2 ||
			r.Members[1].Key != "k2" || r.Members[1].Name != "name-k2" || r.Members[1].Tags["number"] != "1" {
			t.Errorf("asked for %+v", r)
		}
		made := each(r)
		made[1].Existed = true
		return made, nil
	}})
	info, err := host.GetInfo(t.Context(), &providerpb.GetInfoRequest{})
	if err != nil || strings.Join(info.Services, " ") != "identity batch" {
		t.Errorf("services %v, %v", info.GetServices(), err)
	}
	answers := host.ask(t, t.Context(), batchFor("k1", "k2"))
	wantOutcome(t, answers["k1"], providerpb.ProvisionResponse_OUTCOME_CREATED, 0)
	wantOutcome(t, answers["k2"], providerpb.ProvisionResponse_OUTCOME_EXISTED, 0)
	if r := answers["k1"].Resource; r.GetId() != "i-k1" || r.GetFleet() != "linux" || r.GetInstanceDigest() != "digest-1" {
		t.Errorf("got %v", r)
	}
}

func TestWhatABatchEndsInIsToldOfEachMember(t *testing.T) {
	const unknown, none, created = providerpb.ProvisionResponse_OUTCOME_UNKNOWN,
		providerpb.ProvisionResponse_OUTCOME_NOT_CREATED, providerpb.ProvisionResponse_OUTCOME_CREATED
	for name, c := range map[string]struct {
		serve         func(BatchRequest[testInstance]) ([]Resource, error)
		first, second providerpb.ProvisionResponse_Outcome
		class         providerpb.Error_Class // of the second
	}{
		"a lost answer": {func(BatchRequest[testInstance]) ([]Resource, error) {
			return nil, errors.New("the connection broke")
		}, unknown, unknown, providerpb.Error_CLASS_TRANSIENT},
		"a refusal": {func(BatchRequest[testInstance]) ([]Resource, error) {
			return nil, NotCreated(Capacity, errors.New("no room for tok-secret"))
		}, none, none, providerpb.Error_CLASS_CAPACITY},
		"a panic": {func(BatchRequest[testInstance]) ([]Resource, error) {
			panic("oh")
		}, unknown, unknown, providerpb.Error_CLASS_INTERNAL},
		"one is made, and the other is unknown": {func(r BatchRequest[testInstance]) ([]Resource, error) {
			return each(r)[:1], errors.New("the answer is cut off")
		}, created, unknown, providerpb.Error_CLASS_TRANSIENT},
		"the plugin forgets one": {func(r BatchRequest[testInstance]) ([]Resource, error) {
			return each(r)[:1], nil
		}, created, unknown, providerpb.Error_CLASS_INTERNAL},
		"the plugin names one that isn't in the batch": {func(r BatchRequest[testInstance]) ([]Resource, error) {
			all := each(r)
			all[1].Key = "k3"
			return all, nil
		}, created, unknown, providerpb.Error_CLASS_INTERNAL},
		"the plugin gives one key two instances": {func(r BatchRequest[testInstance]) ([]Resource, error) {
			return append(each(r), Resource{ID: "i-3", Key: "k2", State: Running}), nil
		}, created, unknown, providerpb.Error_CLASS_INTERNAL},
	} {
		t.Run(name, func(t *testing.T) {
			host := startCaterer(t, &caterer{serve: func(_ context.Context, r BatchRequest[testInstance]) ([]Resource, error) {
				return c.serve(r)
			}})
			answers := host.ask(t, t.Context(), batchFor("k1", "k2"))
			if answers["k1"].GetOutcome() != c.first {
				t.Errorf("the first is answered with %v", answers["k1"])
			}
			wantOutcome(t, answers["k2"], c.second, c.class)
			if strings.Contains(answers["k2"].GetError().GetMessage(), "tok-secret") {
				t.Errorf("the token is told: %v", answers["k2"])
			}
		})
	}
}

// A host that gave up, or is another one, asks again while the first call runs.
func TestABatchThatIsAskedForTwiceAtOnceIsOneCall(t *testing.T) {
	begun, release := make(chan struct{}, 2), make(chan struct{})
	host := startCaterer(t, &caterer{serve: func(_ context.Context, r BatchRequest[testInstance]) ([]Resource, error) {
		begun <- struct{}{}
		<-release
		return each(r), nil
	}})
	var calls sync.WaitGroup
	answers := make([]map[string]*providerpb.ProvisionResponse, 2)
	for n := range answers {
		calls.Go(func() { answers[n] = host.ask(t, t.Context(), batchFor("k1", "k2")) })
	}
	within(t, begun, "the call")
	eventually(t, "both ask", func() bool { return host.flights.due() == 4 })
	close(release)
	calls.Wait()
	if len(begun) > 0 {
		t.Error("the provider was asked twice")
	}
	for _, key := range []string{"k1", "k2"} {
		if !proto.Equal(answers[0][key], answers[1][key]) {
			t.Errorf("%s: %v and %v", key, answers[0][key], answers[1][key])
		}
	}
}

// While a batch may be under way nothing else is done about its members, and a look
// at them says so.
func TestTheMembersOfABatchAreInFlightUnderTheirOwnKeys(t *testing.T) {
	begun, release := make(chan struct{}, 2), make(chan struct{})
	host := startCaterer(t, &caterer{serve: func(_ context.Context, r BatchRequest[testInstance]) ([]Resource, error) {
		begun <- struct{}{}
		<-release
		return each(r), nil
	}})
	given, giveUp := context.WithCancel(t.Context())
	stream, err := host.batches.ProvisionBatch(given, batchFor("k1", "k2"))
	if err != nil {
		t.Fatal(err)
	}
	within(t, begun, "the call")
	giveUp() // the host has stopped waiting; the call continues
	for err == nil {
		_, err = stream.Recv()
	}
	seen := receive(host.Inspect(t.Context(), &providerpb.InspectRequest{Keys: []string{"k1", "k2", "k3"}}))
	if last := seen.messages[len(seen.messages)-1]; strings.Join(last.InFlightKeys, " ") != "k1 k2" ||
		strings.Join(last.AbsentKeys, " ") != "k3" {
		t.Errorf("in flight %v, absent %v", last.InFlightKeys, last.AbsentKeys)
	}
	wantOutcome(t, host.provision(t, t.Context(), "k2")["k2"], providerpb.ProvisionResponse_OUTCOME_UNKNOWN,
		providerpb.Error_CLASS_TRANSIENT)
	removed := receive(host.Terminate(t.Context(), &providerpb.TerminateRequest{Refs: []*providerpb.Ref{{Key: "k1"}}}))
	if len(removed.messages) != 1 || removed.messages[0].Outcome != providerpb.TerminateResponse_OUTCOME_UNKNOWN {
		t.Errorf("a member is removed while it is made: %v", removed)
	}
	other := batchFor("k2", "k3")
	other.Key = "b2"
	for key, answer := range host.ask(t, t.Context(), other) {
		if answer.Outcome != providerpb.ProvisionResponse_OUTCOME_UNKNOWN {
			t.Errorf("%s of another batch: %v", key, answer)
		}
	}
	close(release)
	wantOutcome(t, host.ask(t, t.Context(), batchFor("k1", "k2"))["k2"], providerpb.ProvisionResponse_OUTCOME_CREATED, 0)
}

func TestABatchThatIsNoneIsRefusedBeforeAnythingBegins(t *testing.T) {
	host := startCaterer(t, &caterer{serve: func(context.Context, BatchRequest[testInstance]) ([]Resource, error) {
		t.Error("it was asked for")
		return nil, nil
	}})
	for name, corrupt := range map[string]func(*providerpb.ProvisionBatchRequest){
		"a batch without a key":            func(r *providerpb.ProvisionBatchRequest) { r.Key = "" },
		"a member with the batch's key":    func(r *providerpb.ProvisionBatchRequest) { r.Key = "k2" },
		"a member with a key that is none": func(r *providerpb.ProvisionBatchRequest) { r.Request.Items[1].Key = "K 2" },
		"a member of an inventory":         func(r *providerpb.ProvisionBatchRequest) { r.Request.Items[1].Asset = "a" },
		"a member with a document": func(r *providerpb.ProvisionBatchRequest) {
			r.Request.Items[1].Bootstrap = r.Bootstrap
		},
		"an instance block of another language": func(r *providerpb.ProvisionBatchRequest) {
			r.Request.InstanceJson = []byte(`{"cpus": "two"}`)
		},
	} {
		request := batchFor("k1", "k2")
		corrupt(request)
		for _, answer := range host.ask(t, t.Context(), request) {
			if answer.Outcome != providerpb.ProvisionResponse_OUTCOME_NOT_CREATED ||
				answer.Error.GetClass() != providerpb.Error_CLASS_INVALID {
				t.Errorf("%s: %v", name, answer)
			}
		}
	}
}

func TestBatchProvisionerNeedsIdentityAndIdempotency(t *testing.T) {
	for name, corrupt := range map[string]func(*Plugin[testConfig, testInstance]){
		"without identities":        func(p *Plugin[testConfig, testInstance]) { p.Identity = false },
		"looking for its tags":      func(p *Plugin[testConfig, testInstance]) { p.Idempotency = IdempotentByTag },
		"of an inventory":           func(p *Plugin[testConfig, testInstance]) { p.Idempotency = IdempotentByAsset },
		"that is never asked again": func(p *Plugin[testConfig, testInstance]) { p.Idempotency = NotIdempotent },
	} {
		p := catering(&caterer{})
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		corrupt(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), "it sets Batches") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, p := range map[string]Plugin[testConfig, testInstance]{"declares what it doesn't do": catering(&notary{}),
		"does what it doesn't declare": catering(&caterer{})} {
		p.Batches = name == "declares what it doesn't do"
		host := startUnconfigured(t, p)
		if _, err := host.Configure(t.Context(), &providerpb.ConfigureRequest{}); err == nil {
			t.Errorf("a plugin that %s is configured", name)
		}
	}
}
