package progress

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// watched is a service of which only the progress is asked.
type watched struct {
	progress []Progress
	err      error
}

func (w watched) Watch(ctx context.Context) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		for _, p := range w.progress {
			if !yield(p, nil) {
				return
			}
		}
		if w.err != nil {
			yield(Progress{}, w.err)
			return
		}
		<-ctx.Done()
	}
}

func TestAwaitEndsForItsReason(t *testing.T) {
	cut := errors.New("connection reset")
	tests := []struct {
		name        string
		service     watched
		interrupted bool
		want        Ending
		err         error
	}{
		{name: "settled", service: watched{progress: []Progress{{Serial: 2}, {Serial: 2, Settled: true}}}, want: Settled},
		{
			name:    "what settled before the apply doesn't count",
			service: watched{progress: []Progress{{Serial: 1, Settled: true}}},
			want:    WaitOver,
		},
		{name: "a person is needed", service: watched{progress: []Progress{{Serial: 2, Stuck: true}}}, want: Stuck},
		{name: "interrupted", interrupted: true, want: Interrupted},
		{name: "cut off", service: watched{err: cut}, want: WaitOver, err: cut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.interrupted {
				cancel()
			}
			got, err := Await(ctx, tt.service, 2, 20*time.Millisecond, func(Progress) {})
			if got.Ending != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("ended as %q with %v, want %q with %v", got.Ending, err, tt.want, tt.err)
			}
		})
	}
}

func TestStuckIsOnlyWhatWaitingDoesNotMend(t *testing.T) {
	hold := func(person bool) snapshot.Observations {
		return snapshot.Observations{Holds: map[fleet.RunnerFleetID]snapshot.Hold{"f1": {NeedsPerson: person}}}
	}
	coming := []fleet.CapacityInstance{{Provider: "local.here", State: fleet.Provisioning}}
	tests := []struct {
		name string
		res  loop.Result
		want bool
	}{
		{name: "nothing is held", want: false},
		{name: "a back-off", res: loop.Result{Observations: hold(false)}, want: false},
		{name: "an error that a person must mend", res: loop.Result{Observations: hold(true)}, want: true},
		{
			name: "while something else is on its way",
			res:  loop.Result{Observations: hold(true), Instances: coming},
			want: false,
		},
		{name: "while a call is under way", res: loop.Result{Observations: hold(true), Calls: 1}, want: false},
		{
			name: "a provider that won't come back, and its instances with it",
			res: loop.Result{
				Observations: snapshot.Observations{Blocked: map[fleet.ProviderAddress]string{"local.here": "broken"}},
				Instances:    coming,
			},
			want: true,
		},
	}
	for _, tt := range tests {
		if got := stuck(tt.res); got != tt.want {
			t.Errorf("%s: stuck is %v", tt.name, got)
		}
	}
}

func TestWatchersJoinTheMovesThatTheyMissed(t *testing.T) {
	h := NewHub()
	h.Begin(now)
	next, stop := iter.Pull2(h.watch(t.Context()))
	defer stop()
	h.Publish(Progress{At: now, Serial: 1, Transitions: []loop.Transition{{Instance: "a"}}}, snapshot.Observations{})
	first, _, _ := next()
	if first.Serial != 1 {
		t.Fatalf("first: %+v", first)
	}
	h.Publish(Progress{At: now, Serial: 2, Transitions: []loop.Transition{{Instance: "b"}}}, snapshot.Observations{})
	h.Publish(Progress{At: now, Serial: 3, Transitions: []loop.Transition{{Instance: "c"}}}, snapshot.Observations{})
	second, _, _ := next()
	if second.Serial != 3 || len(second.Transitions) != 2 || second.Transitions[0].Instance != "b" {
		t.Errorf("second: %+v", second)
	}
}

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
