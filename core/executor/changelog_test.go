package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
)

// lines is a logger and what it wrote, without the times of day.
func lines() (*slog.Logger, func() []string) {
	var written bytes.Buffer
	log := slog.New(
		slog.NewTextHandler(
			&written,
			&slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}},
		),
	)
	return log, func() []string { return strings.Split(strings.TrimSpace(written.String()), "\n") }
}

func TestAFailureThatGoesOnDoesNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, written := lines()
		c := newChangeLog(log, time.Now)
		s := subject{what: "the inspection", provider: local}
		fail := func(kind string, times int) {
			for n := range times {
				c.failed(slog.LevelWarn, s, kind, "an inspection failed", "error", fmt.Sprint("request ", n))
				time.Sleep(5 * time.Second)
			}
		}
		c.well(s)
		fail("auth", 13) // a minute and the next
		fail("transient", 2)
		c.well(s)
		c.well(s)
		fail("transient", 1)
		c.well(s)
		want := []string{
			`level=WARN msg="an inspection failed" provider=local.here error="request 0" times=1`,
			`level=WARN msg="an inspection failed" provider=local.here error="request 12" times=12`,
			`level=WARN msg="an inspection failed" provider=local.here error="request 0" times=1`,
			`level=INFO msg="the inspection is well again" provider=local.here failures=15`,
		}
		if got := written(); !slices.Equal(got, want) {
			t.Errorf("the log:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// What fails and succeeds by turns says so once a minute, and the last line is true.
func TestWhatFailsByTurnsDoesNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, written := lines()
		c := newChangeLog(log, time.Now)
		for range 600 { // ten minutes
			c.failed(slog.LevelError, step, "", "a step failed")
			c.well(step)
			time.Sleep(time.Second)
		}
		got := written()
		if len(got) != 20 || !strings.Contains(got[19], "well again") {
			t.Errorf("%d lines:\n%s", len(got), strings.Join(got, "\n"))
		}
	})
}

func TestAnHourOfFailuresIsAFewLines(t *testing.T) {
	inspections := &script{wake: 2 * time.Hour}
	for range 3600 {
		inspections.results = append(inspections.results, loop.Result{Effects: []loop.Effect{loop.Inspect{Provider: local}}})
	}
	steps := &script{wake: time.Second}
	for range 3600 {
		steps.errs = append(steps.errs, errors.New("disk full"))
	}
	for name, s := range map[string]*script{"of inspections": inspections, "of steps": steps} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newExecutor(s, &cloud{inspect: func(context.Context) (fleet.Inspection, error) {
					time.Sleep(time.Second) // its answer is the next step
					return fleet.Inspection{}, &pluginhost.CallError{Class: fleet.ErrorAuth, Message: "expired"}
				}}, nil)
				log, written := lines()
				e.settings.Log, e.failures.log = log, log
				if err := run(t, e, time.Hour); err != nil {
					t.Fatal(err)
				}
				if got := written(); len(got) < 59 || len(got) > 61 {
					t.Errorf("%d lines in an hour, the last: %s", len(got), got[len(got)-1])
				}
			})
		})
	}
}
