package provider

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// watching is a scripted provider that announces things.
type watching struct {
	scripted
	watch func(context.Context) iter.Seq2[Notice, error]
}

func (w *watching) Watch(ctx context.Context) iter.Seq2[Notice, error] { return w.watch(ctx) }

func announcing(t *testing.T, events bool, provider Provider[testInstance]) (started, error) {
	t.Helper()
	served := startUnconfigured(t, Plugin[testConfig, testInstance]{
		Name: "test", Version: "1.0.0", Events: events,
		New: func(context.Context, testConfig, Environment) (Provider[testInstance], error) { return provider, nil },
	})
	_, err := served.Configure(t.Context(), &providerpb.ConfigureRequest{Installation: "inst"})
	return served, err
}

func TestAWatcherIsNamedAmongTheServicesAndItsNoticesAreStreamed(t *testing.T) {
	deadline := time.Date(2026, 11, 29, 12, 2, 0, 0, time.UTC)
	served, err := announcing(t, true, &watching{watch: func(context.Context) iter.Seq2[Notice, error] {
		return func(yield func(Notice, error) bool) {
			_ = yield(Notice{ID: "e1", Kind: Interruption, Instance: "i-1", Deadline: deadline, Detail: "spot"}, nil) &&
				yield(Notice{ID: "e2", Kind: StateChange, Instance: "i-2"}, nil) && yield(Notice{}, errors.New("the queue is gone"))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := served.GetInfo(t.Context(), &providerpb.GetInfoRequest{})
	if err != nil || !slices.Contains(info.Services, providerpb.EventsService) {
		t.Errorf("the services are %v, %v", info.GetServices(), err)
	}
	got := receive(served.events.Watch(t.Context(), &providerpb.WatchRequest{}))
	if len(got.messages) != 2 || got.err == nil || !strings.Contains(got.err.Error(), "the queue is gone") {
		t.Fatalf("%d notices, %v", len(got.messages), got.err)
	}
	first, second := got.messages[0], got.messages[1]
	if first.Kind != providerpb.WatchResponse_KIND_INTERRUPTION || first.EventId != "e1" || first.InstanceId != "i-1" ||
		!first.Deadline.AsTime().Equal(deadline) || first.Detail != "spot" {
		t.Errorf("the first is %v", first)
	}
	if second.Kind != providerpb.WatchResponse_KIND_STATE_CHANGE || second.Deadline != nil {
		t.Errorf("the second is %v", second)
	}
}

func TestWatchingEndsWithTheHostsCall(t *testing.T) {
	ended := make(chan struct{})
	served, err := announcing(t, true, &watching{watch: func(ctx context.Context) iter.Seq2[Notice, error] {
		return func(yield func(Notice, error) bool) {
			defer close(ended)
			yield(Notice{ID: "e1", Kind: Rebalance, Instance: "i-1"}, nil)
			<-ctx.Done()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := served.events.Watch(ctx, &providerpb.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	within(t, ended, "the provider's Watch to end")
}

func TestAPluginThatDoesNotSayThatItWatchesServesNoEvents(t *testing.T) {
	served, err := announcing(t, false, &scripted{})
	if err != nil {
		t.Fatal(err)
	}
	if got := receive(served.events.Watch(t.Context(), &providerpb.WatchRequest{})); status.Code(
		got.err) != codes.Unimplemented {
		t.Errorf("it answers %v", got.err)
	}
}

func TestAPluginIsHeldToItsWordOnWatching(t *testing.T) {
	if _, err := announcing(t, false, &watching{}); err == nil || !strings.Contains(err.Error(), "set Plugin.Events") {
		t.Errorf("a Watcher that isn't announced: %v", err)
	}
	if _, err := announcing(t, true, &scripted{}); err == nil || !strings.Contains(err.Error(), "add the method Watch") {
		t.Errorf("an announced Watcher that is none: %v", err)
	}
}
