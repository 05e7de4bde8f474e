package render

import (
	"bytes"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func TestEachMoveOfAnInstanceIsALine(t *testing.T) {
	var out bytes.Buffer
	at := time.Date(2026, 5, 4, 10, 20, 30, 0, time.UTC)
	l := NewApplyLines(Page{Out: &out, Now: func() time.Time { return at }}, "0.1.0")
	held := map[fleet.RunnerFleetID]snapshot.Hold{"f1": {Reason: reason.Plain("3 in a row failed"), NeedsPerson: true}}
	for _, p := range []progress.Progress{
		{At: at, Transitions: []loop.Transition{
			{Instance: "i1", Fleet: "fleet.a", To: fleet.Requested, Reason: reason.Plain("1 wanted")}}},
		{At: at, Transitions: []loop.Transition{
			{Instance: "i1", Fleet: "fleet.a", From: fleet.Requested, To: fleet.Provisioning, Reason: reason.Plain("stored")}},
			Holds: held},
		{At: at, Holds: held}, // told once
	} {
		l.Observe(p)
	}
	err := l.Ended(
		progress.Outcome{
			Ending: progress.Stuck,
			Last:   progress.Progress{States: map[fleet.CapacityInstanceState]int{fleet.Failed: 1}},
		},
		false,
	)
	if got := l.SumUp(terminal.ExitUnresolved, err); got != terminal.ExitStatus(terminal.ExitUnresolved) {
		t.Errorf("it ends with %v", got)
	}
	want := `{"type":"version","at":"2026-05-04T10:20:30Z","format":1,"version":"0.1.0"}
{"type":"instance","at":"2026-05-04T10:20:30Z","fleet":"fleet.a","instance":"i1","to":"requested","reason":{"code":"stored_text","params":{"words":"1 wanted"},"text":"1 wanted"}}
{"type":"instance","at":"2026-05-04T10:20:30Z","fleet":"fleet.a","instance":"i1","from":"requested","to":"provisioning","reason":{"code":"stored_text","params":{"words":"stored"},"text":"stored"}}
{"type":"held","at":"2026-05-04T10:20:30Z","fleet_id":"f1","reason":{"code":"stored_text","params":{"words":"3 in a row failed"},"text":"3 in a row failed"},"needs_person":true}
{"type":"summary","at":"2026-05-04T10:20:30Z","outcome":"stuck","exit_code":3,"serial":0,"changed":false,"states":{"failed":1},"unresolved":0}
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
