package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

func TestStatusShowsRecentDecisions(t *testing.T) {
	var out bytes.Buffer
	a := Page{Out: &out, Now: time.Now}
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	f := view.Fleet{Address: "fleet.demo", Decisions: []view.LastDecision{
		{
			At:     at.Add(time.Minute),
			Kind:   fleet.ScaleDown,
			Reason: reason.Plain("3 ready, 2 wanted."),
		},
		{At: at, Kind: fleet.ScaleUp, Reason: reason.Plain("0 ready, 2 wanted.")},
	}}
	a.fleet(f, "process 7")
	want := `  recent decisions
    2026-11-29 12:01:00 UTC  scale_down  3 ready, 2 wanted
    2026-11-29 12:00:00 UTC  scale_up    0 ready, 2 wanted
`
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("it shows\n%s\nwant at the end\n%s", out.String(), want)
	}
	out.Reset()
	f.Decisions = nil
	if a.fleet(f, "process 7"); strings.Contains(out.String(), "decisions") {
		t.Errorf("without decisions it shows\n%s", out.String())
	}
}

func TestALongBoundKeepsTheChainAligned(t *testing.T) {
	var out strings.Builder
	a := Page{Out: &out, Now: time.Now}
	a.bounds(
		"  ",
		[]fleet.Bound{
			{Name: "demand", Reason: reason.Of(reason.NoJobsQueued{})},
			{Name: "reservation", After: 3, Reason: reason.Of(reason.RaisedToMin{Min: 3})},
		},
	)
	want := "  demand      → 0  no jobs queued\n  reservation → 3  raised to min = 3\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
