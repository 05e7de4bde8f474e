package docs

import (
	"context"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/replay"
)

func TestTheTraceOnThePageIsRead(t *testing.T) {
	blocks := codeBlocks(read(t, "docs/simulate.md"), "csv")
	if len(blocks) == 0 {
		t.Fatal("the page shows no trace")
	}
	for _, text := range blocks {
		if _, err := replay.ReadTrace(
			"page.csv",
			strings.NewReader(text),
			[]fleet.Scheduler{{Address: "forgeyard.ci"}},
		); err != nil {
			t.Error(err)
		}
	}
}

func TestTheExampleOfAReplayRuns(t *testing.T) {
	source := config.Source{Name: "fleet.hcl", Bytes: []byte(read(t, "examples/simulate/fleet.hcl"))}
	loaded, found := config.Load([]config.Source{source}, config.Variables{}, pluginSchemas(t))
	if found.HasErrors() {
		t.Fatal(found)
	}
	trace, err := replay.ReadTrace(
		"day.csv",
		strings.NewReader(read(t, "examples/simulate/day.csv")),
		replay.Schedulers(loaded.Definition),
	)
	if err != nil {
		t.Fatal(err)
	}
	result, err := replay.Run(context.Background(), replay.Settings{
		Fleets: replay.Fleets(
			loaded.Definition,
		),
		Boot:     replay.DefaultBoot,
		Step:     replay.DefaultStep,
		Relaunch: replay.DefaultRelaunch,
	}, trace)
	if err != nil {
		t.Fatal(err)
	}
	// Both fleets have work, and some jobs are there to show that none can run them.
	for _, f := range result.Fleets {
		if f.Jobs == 0 || f.Cost == nil {
			t.Errorf("%s ran %d jobs", f.Fleet, f.Jobs)
		}
	}
	if result.Unrunnable == 0 || len(result.Unplaced) != 1 || result.Unfinished != 0 {
		t.Errorf("%d can't run, %d didn't: %v", result.Unrunnable, result.Unfinished, result.Unplaced)
	}
}
