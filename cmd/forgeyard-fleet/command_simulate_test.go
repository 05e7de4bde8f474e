package main

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/replay"
)

func TestTheFlagsOfAReplayAreChecked(t *testing.T) {
	good := simulateFlags{
		trace:    "x.csv",
		boot:     replay.DefaultBoot,
		step:     replay.DefaultStep,
		relaunch: replay.DefaultRelaunch,
	}
	if _, err := good.settings(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*simulateFlags){
		"--trace FILE is required":                       func(f *simulateFlags) { f.trace = "" },
		"--boot -1s: must be 0 ≤ boot ≤ 24h":             func(f *simulateFlags) { f.boot = -time.Second },
		"--step 1ms: must be 1s ≤ step ≤ 1h":             func(f *simulateFlags) { f.step = time.Millisecond },
		"--relaunch 25h0m0s: must be 0 ≤ relaunch ≤ 24h": func(f *simulateFlags) { f.relaunch = 25 * time.Hour },
		`--from "monday": invalid time; give`:            func(f *simulateFlags) { f.from = "monday" },
		"must be before --until 2026-10-05T00:00:00Z": func(f *simulateFlags) {
			f.from, f.until = "2026-10-06T00:00:00Z", "2026-10-05T00:00:00Z"
		},
	} {
		f := good
		change(&f)
		if _, err := f.settings(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
