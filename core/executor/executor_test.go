package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// script is a loop that returns prepared results and keeps what it was told.
type script struct {
	mu        sync.Mutex
	results   []loop.Result
	errs      []error
	steps     int
	stepped   []loop.Event
	absorbed  []loop.Event
	abandoned bool
	wake      time.Duration
}

func (s *script) Step(_ context.Context, now time.Time, events []loop.Event) (loop.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps++
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		if err != nil {
			return loop.Result{}, err
		}
	}
	s.stepped = append(s.stepped, events...)
	res := loop.Result{}
	if len(s.results) > 0 {
		res, s.results = s.results[0], s.results[1:]
	}
	res.Wake = now.Add(s.wake)
	return res, nil
}

func (s *script) Absorb(_ context.Context, _ time.Time, events []loop.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.absorbed = append(s.absorbed, events...)
	return nil
}

func (s *script) Abandon(context.Context, time.Time) error { s.abandoned = true; return nil }

// cloud is a provider whose calls end when the test says so. It has no machines: what is
// tested is what the executor makes of each end of a call, which a provider that behaves
// (testonly/machinefake) doesn't have.
type cloud struct {
	provision func(context.Context, func(pluginhost.ProvisionAnswer)) error
	inspect   func(context.Context) (fleet.Inspection, error)
	offers    func(context.Context) (fleet.OfferList, error)
	terminate func(context.Context, func(pluginhost.TerminateAnswer)) error
	requests  chan pluginhost.ProvisionRequest
}

func (c *cloud) Inspect(ctx context.Context, _ []fleet.OperationID) (fleet.Inspection, error) {
	return c.inspect(ctx)
}

func (c *cloud) Provision(
	ctx context.Context,
	request pluginhost.ProvisionRequest,
	answer func(pluginhost.ProvisionAnswer),
) error {
	c.requests <- request
	return c.provision(ctx, answer)
}

func (c *cloud) Offers(ctx context.Context, _ json.RawMessage) (fleet.OfferList, error) {
	return c.offers(ctx)
}

func (c *cloud) Terminate(
	ctx context.Context,
	_ []pluginhost.TerminateRef,
	_ bool,
	answer func(pluginhost.TerminateAnswer),
) error {
	return c.terminate(ctx, answer)
}

// created is the answer for a machine that was made.
func created(key fleet.OperationID) pluginhost.ProvisionAnswer {
	return pluginhost.ProvisionAnswer{
		Key: key, Outcome: fleet.ProvisionCreated, Resource: &fleet.Resource{ID: "vm"}, CallOver: true,
	}
}

const local = fleet.ProviderAddress("local.here")

func provisionEffect() loop.Provision {
	return loop.Provision{
		Provider:  local,
		Operation: fleet.Operation{ID: "k1", Fleet: "f1", Nonce: []byte("n")},
		Intent: fleet.ProvisionIntent{
			Fleet:     "fleet.demo",
			Name:      "demo-1",
			Bootstrap: fleet.BootstrapIntent{Kind: "file", ManagerURL: "https://127.0.0.1:1"},
		},
	}
}

func batchEffect() loop.ProvisionBatch {
	first, second := provisionEffect(), provisionEffect()
	first.Operation.Batch, second.Operation.Batch = fleet.BatchPlace{
		Key:  "b1",
		Size: 2,
	}, fleet.BatchPlace{
		Key:    "b1",
		Number: 1,
		Size:   2,
	}
	second.Operation.ID, second.Intent.Name = "k2", "demo-2"
	return loop.ProvisionBatch{Provider: local, Key: "b1", Members: []loop.Provision{first, second}}
}

func TestABatchGoesOutAsOneRequestWithItsKeyAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cloud{provision: func(context.Context, func(pluginhost.ProvisionAnswer)) error { return nil }}
		s := &script{wake: time.Hour, results: []loop.Result{{Effects: []loop.Effect{batchEffect()}}}}
		e := newExecutor(s, c, nil)
		e.settings.Token = func(op fleet.Operation) string { return "token of " + string(op.TokenKey()) }
		if err := run(t, e, time.Minute); err != nil {
			t.Fatal(err)
		}
		request := <-c.requests
		if len(c.requests) > 0 || request.Batch != "b1" || len(request.Items) != 2 || request.Items[0].Key != "k1" ||
			request.Items[1].Name != "demo-2" {
			t.Errorf("sent %+v, and %d more", request, len(c.requests))
		}
		for _, item := range request.Items {
			if item.Bootstrap.Token != "token of b1" {
				t.Errorf("%s has the token %q", item.Key, item.Bootstrap.Token)
			}
		}
	})
}

func newExecutor(s *script, c *cloud, none error) *Executor {
	c.requests = make(chan pluginhost.ProvisionRequest, 8)
	return New(Settings{
		Loop: s, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Observe: func(loop.Result) {},
		Token: func(op fleet.Operation) string { return "token of " + string(op.ID) },
		Provider: func(fleet.ProviderAddress) (Provider, error) {
			if none != nil {
				return nil, none
			}
			return c, nil
		},
	})
}

// run runs an executor in a bubble until settled, then stops it in order.
func run(t *testing.T, e *Executor, settle time.Duration) error {
	t.Helper()
	planning, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(planning, t.Context()) }()
	<-time.After(settle) // the bubble's clock: it costs nothing
	stop()
	return <-done
}

func TestEveryEffectEndsInItsEvent(t *testing.T) {
	denied := &pluginhost.CallError{Class: fleet.ErrorPermission, Message: "denied", RetryAfter: time.Minute}
	tests := []struct {
		name   string
		effect loop.Effect
		cloud  cloud
		none   error
		want   string
	}{
		{name: "a provision that is answered", effect: provisionEffect(),
			cloud: cloud{provision: func(_ context.Context, answer func(pluginhost.ProvisionAnswer)) error {
				answer(created("k1"))
				return nil
			}}, want: "provision k1 created vm over"},
		{name: "a provision that is refused", effect: provisionEffect(),
			cloud: cloud{provision: func(_ context.Context, answer func(pluginhost.ProvisionAnswer)) error {
				answer(pluginhost.ProvisionAnswer{Key: "k1", Outcome: fleet.ProvisionNotCreated, Err: denied, CallOver: true})
				return nil
			}}, want: "provision k1 not_created  over permission denied 1m0s"},
		{name: "a provision without an answer before the deadline may still run", effect: provisionEffect(),
			cloud: cloud{provision: func(ctx context.Context, answer func(pluginhost.ProvisionAnswer)) error {
				<-ctx.Done()
				answer(pluginhost.ProvisionAnswer{Key: "k1", Outcome: fleet.ProvisionUnknown})
				return ctx.Err()
			}}, want: "provision k1 unknown  running transient context deadline exceeded 0s"},
		{name: "a provision without a plugin was never sent", effect: provisionEffect(), none: errors.New("it is starting"),
			want: "provision k1 not_sent  over transient it is starting 0s"},
		{name: "a batch that is answered in part", effect: batchEffect(),
			cloud: cloud{provision: func(_ context.Context, answer func(pluginhost.ProvisionAnswer)) error {
				answer(created("k2"))
				answer(pluginhost.ProvisionAnswer{Key: "k1", Outcome: fleet.ProvisionUnknown})
				return errors.New("the connection broke")
			}}, want: "batch: provision k1 unknown  running transient the connection broke 0s; provision k2 created vm over"},
		{
			name:   "a batch without a plugin was never sent",
			effect: batchEffect(),
			none:   errors.New("it is starting"),
			want: "batch: provision k1 not_sent  over transient it is starting 0s; provision k2 not_sent  over transient it " +
				"is starting 0s",
		},
		{
			name:   "a termination without a plugin was never sent",
			effect: loop.Terminate{Provider: local, Operation: "t1", Key: "k1"},
			none:   errors.New("it is starting"),
			want:   "terminate t1 not_sent transient it is starting 0s",
		},
		{name: "a failed inspection keeps what it saw", effect: loop.Inspect{Provider: local},
			cloud: cloud{inspect: func(context.Context) (fleet.Inspection, error) {
				return fleet.Inspection{Resources: []fleet.Resource{{ID: "vm"}}}, denied
			}}, want: "inspect 1 false permission denied 1m0s"},
		{name: "a list of offers", effect: loop.ListOffers{Market: fleet.MarketKey{Provider: local}},
			cloud: cloud{offers: func(context.Context) (fleet.OfferList, error) {
				return fleet.OfferList{Offers: []fleet.Offer{{Zone: "z"}}}, nil
			}}, want: "offers of local.here: 1"},
		{
			name:   "a list of offers that isn't there before the deadline",
			effect: loop.ListOffers{Market: fleet.MarketKey{Provider: local}},
			cloud: cloud{offers: func(ctx context.Context) (fleet.OfferList, error) {
				<-ctx.Done()
				return fleet.OfferList{}, ctx.Err()
			}},
			want: "offers of local.here: 0 transient context deadline exceeded 0s",
		},
		{name: "a provision that finds no room says where", effect: provisionEffect(),
			cloud: cloud{provision: func(_ context.Context, answer func(pluginhost.ProvisionAnswer)) error {
				answer(pluginhost.ProvisionAnswer{Key: "k1", Outcome: fleet.ProvisionNotCreated, CallOver: true,
					Err: &pluginhost.CallError{Class: fleet.ErrorCapacity, Message: "full", Zone: "z1", MachineType: "m1"}})
				return nil
			}}, want: "provision k1 not_created  over capacity full 0s in z1 m1"},
		{name: "a termination that is accepted", effect: loop.Terminate{Provider: local, Operation: "t1", Key: "k1"},
			cloud: cloud{terminate: func(_ context.Context, answer func(pluginhost.TerminateAnswer)) error {
				answer(pluginhost.TerminateAnswer{Outcome: fleet.TerminateAccepted})
				return nil
			}}, want: "terminate t1 accepted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{wake: time.Hour, results: []loop.Result{{Effects: []loop.Effect{tt.effect}}}}
				if err := run(t, newExecutor(s, &tt.cloud, tt.none), 10*time.Minute); err != nil {
					t.Fatal(err)
				}
				if got := words(s.stepped); !slices.Equal(got, []string{tt.want}) {
					t.Errorf("events %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func words(events []loop.Event) []string {
	var out []string
	failure := func(f *loop.Failure) string {
		if f == nil {
			return ""
		}
		text := fmt.Sprintf(" %s %s %s", f.Class, f.Message, f.RetryAfter)
		if f.Zone != "" {
			text += " in " + f.Zone + " " + f.MachineType
		}
		return text
	}
	for _, e := range events {
		switch e := e.(type) {
		case loop.ProvisionAnswered:
			over := "running"
			if e.CallOver {
				over = "over"
			}
			out = append(
				out,
				fmt.Sprintf("provision %s %s %s %s%s", e.Operation, e.Outcome, e.Resource.ID, over, failure(e.Failure)),
			)
		case loop.BatchAnswered:
			var members []loop.Event
			for _, one := range e.Answers {
				members = append(members, one)
			}
			out = append(out, "batch: "+strings.Join(words(members), "; "))
		case loop.Inspected:
			out = append(
				out,
				fmt.Sprintf("inspect %d %v%s", len(e.Inspection.Resources), e.Inspection.Complete, failure(e.Failure)),
			)
		case loop.OffersListed:
			out = append(out, fmt.Sprintf("offers of %s: %d%s", e.Market.Provider, len(e.List.Offers), failure(e.Failure)))
		case loop.TerminateAnswered:
			out = append(out, fmt.Sprintf("terminate %s %s%s", e.Operation, e.Outcome, failure(e.Failure)))
		}
	}
	return out
}

func TestTheTokenGoesOutWithTheRequestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{wake: time.Hour, results: []loop.Result{{Effects: []loop.Effect{provisionEffect()}}}}
		c := &cloud{provision: func(context.Context, func(pluginhost.ProvisionAnswer)) error { return nil }}
		e := newExecutor(s, c, nil)
		if err := run(t, e, time.Second); err != nil {
			t.Fatal(err)
		}
		request := <-c.requests
		item := request.Items[0]
		if item.Key != "k1" || item.Bootstrap.Token != "token of k1" || item.Bootstrap.ManagerURL != "https://127.0.0.1:1" ||
			request.Fleet != "f1" || request.Address != "fleet.demo" {
			t.Errorf("request for %s: key %s, name %s", request.Fleet, item.Key, item.Name)
		}
	})
}

func TestAnOrderedStopCommitsTheAnswersThatStillCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{wake: time.Hour, results: []loop.Result{{Effects: []loop.Effect{provisionEffect()}}}}
		c := &cloud{provision: func(_ context.Context, answer func(pluginhost.ProvisionAnswer)) error {
			<-time.After(time.Minute) // the stop comes while the provider works
			answer(created("k1"))
			return nil
		}}
		if err := run(t, newExecutor(s, c, nil), time.Second); err != nil {
			t.Fatal(err)
		}
		if got := words(s.absorbed); !slices.Equal(got, []string{"provision k1 created vm over"}) || !s.abandoned {
			t.Errorf("absorbed %q, abandoned %v", got, s.abandoned)
		}
		if s.steps != 1 {
			t.Errorf("%d steps: something was planned during the stop", s.steps)
		}
	})
}

func TestAWriterThatLostTheStoreStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fenced := &store.FencedError{Ours: 1, Current: 2}
		s := &script{
			wake:    time.Second,
			results: []loop.Result{{Effects: []loop.Effect{provisionEffect()}}},
			errs:    []error{nil, fmt.Errorf("commit: %w", fenced)},
		}
		c := &cloud{
			provision: func(ctx context.Context, _ func(pluginhost.ProvisionAnswer)) error { <-ctx.Done(); return ctx.Err() },
		}
		err := newExecutor(s, c, nil).Run(t.Context(), t.Context())
		if !errors.As(err, &fenced) {
			t.Errorf("ended with %v, want the FencedError", err)
		}
		if s.abandoned || len(s.absorbed) > 0 {
			t.Error("a fenced writer continued writing")
		}
	})
}

// select takes any of several things that are ready.
func TestNoStepBeginsAfterPlanningEndedAndNoEventIsLost(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			s := &script{wake: time.Hour, results: []loop.Result{{Effects: []loop.Effect{provisionEffect()}}}}
			e := newExecutor(s, &cloud{}, errors.New("called after the end"))
			over, cancel := context.WithCancel(t.Context())
			cancel()
			e.Wake()
			e.Send(t.Context(), loop.TerminateAnswered{Operation: "t1", Outcome: fleet.TerminateGone})
			if err := e.Run(over, t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := words(s.absorbed); s.steps != 0 || !slices.Equal(got, []string{"terminate t1 gone"}) {
				t.Fatalf("%d steps, absorbed %q", s.steps, got)
			}
		})
	}
}

func TestAStepThatFailedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{wake: time.Hour, errs: []error{errors.New("disk full"), errors.New("disk full"), nil}}
		if err := run(t, newExecutor(s, &cloud{}, nil), time.Minute); err != nil {
			t.Fatal(err)
		}
		if s.steps != 3 {
			t.Errorf("%d steps, want two that failed and one", s.steps)
		}
	})
}

func TestManyWakesAreOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{wake: time.Hour}
		e := newExecutor(s, &cloud{}, nil)
		for range 100 {
			e.Wake()
		}
		if err := run(t, e, time.Second); err != nil {
			t.Fatal(err)
		}
		if s.steps > 2 {
			t.Errorf("%d steps for one burst", s.steps)
		}
	})
}
