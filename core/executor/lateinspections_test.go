package executor

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// inspecting is an executor that inspects once an interval; how the inspections
// end is scripted, and told counts how often their process was called hung.
func inspecting(t *testing.T, processes func(call int) *cloud, ends ...func(context.Context) error) (told int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &script{wake: 10 * time.Minute}
		for range ends {
			s.results = append(s.results, loop.Result{Effects: []loop.Effect{loop.Inspect{Provider: local}}})
		}
		// An answer is an event, and so a step, with the next inspection.
		var calls atomic.Int64
		inspect := func(ctx context.Context) (fleet.Inspection, error) {
			return fleet.Inspection{}, ends[calls.Add(1)-1](ctx)
		}
		e := newExecutor(s, &cloud{}, nil)
		e.settings.Provider = func(fleet.ProviderAddress) (Provider, error) {
			p := processes(int(calls.Load()))
			p.inspect = inspect
			return p, nil
		}
		e.settings.Hung = func(p fleet.ProviderAddress) {
			if p != local {
				t.Errorf("%s is called hung", p)
			}
			told++
		}
		if err := run(t, e, time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := int(calls.Load()); got != len(ends) {
			t.Fatalf("%d inspections, want %d", got, len(ends))
		}
	})
	return told
}

func TestAProcessThatAnswersNoInspectionIsCalledHung(t *testing.T) {
	silent := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	answers := func(context.Context) error { return nil }
	refuses := func(context.Context) error { return errors.New("no route to host") }
	one := &cloud{}
	same := func(int) *cloud { return one }
	another := []*cloud{{}, {}, {}, {}}
	for name, test := range map[string]struct {
		processes func(int) *cloud
		ends      []func(context.Context) error
		want      int
	}{
		"after two in a row":                    {same, slices.Repeat([]func(context.Context) error{silent}, 2), 1},
		"again, if it is still there two later": {same, slices.Repeat([]func(context.Context) error{silent}, 4), 2},
		"not after one":                         {same, []func(context.Context) error{silent, answers, silent}, 0},
		"not where it answers that it can't": {same, []func(context.Context) error{silent, refuses, silent, refuses},
			0},
		"not for what another process did": {func(n int) *cloud {
			return another[n]
		}, []func(context.Context) error{silent, silent, silent}, 0},
		"not where another process serves already": {func(n int) *cloud {
			return another[n/2]
		}, []func(context.Context) error{silent, silent}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if told := inspecting(t, test.processes, test.ends...); told != test.want {
				t.Errorf("it was called hung %d times, want %d", told, test.want)
			}
		})
	}
}

func TestAStopIsNoHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		effect := loop.Result{Effects: []loop.Effect{loop.Inspect{Provider: local}}}
		s := &script{wake: time.Second, results: []loop.Result{effect, effect}}
		e := newExecutor(s, &cloud{inspect: func(ctx context.Context) (fleet.Inspection, error) {
			<-ctx.Done()
			return fleet.Inspection{}, ctx.Err()
		}}, nil)
		e.settings.Hung = func(fleet.ProviderAddress) { t.Error("called hung") }
		drained, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := e.Run(drained, drained); err != nil {
			t.Fatal(err)
		}
	})
}
