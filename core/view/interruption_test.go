package view

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func TestWhatAProviderAnnouncedIsShownWithWhatFollowsFromIt(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for want, i := range map[string]fleet.Interruption{
		"the provider takes it away at 2026-11-29 12:02 UTC (AWS spot: terminate), announced by the agent at 2026-11-29 " +
			"12:00 UTC: it gets no more jobs, and those that still run then are run again": {
			Notice: fleet.Notice{Kind: fleet.NoticeInterruption, Deadline: at.Add(2 * time.Minute),
				Detail: "AWS spot: terminate"}, Source: fleet.NoticedByAgent, Heard: at},
		"the provider may take it away soon, announced by the provider at 2026-11-29 12:00 UTC: it leaves after its jobs": {
			Notice: fleet.Notice{Kind: fleet.NoticeRebalance}, Source: fleet.NoticedByProvider, Heard: at},
		"the provider takes it away, announced by the agent at 2026-11-29 12:00 UTC and withdrawn at 2026-11-29 12:01 UTC: " +
			"it leaves after its jobs": {
			Notice: fleet.Notice{Kind: fleet.NoticeInterruption}, Source: fleet.NoticedByAgent, Heard: at,
			Withdrawn: at.Add(time.Minute)},
	} {
		s := state(fleet.Draining)
		s.Instances[0].Interruption = &i
		shown := One(s.Instances[0], "fleet.demo", nil, nil)
		if shown.Interruption == nil || shown.Interruption.Reason.Text() != want {
			t.Errorf("it says\n%+v\nwant\n%s", shown.Interruption, want)
		}
		f := Fleets(snapshot.Snapshot{Now: at, State: s})[0]
		if len(f.Interruptions) != 1 || !strings.HasSuffix(f.Interruptions[0].Text(), want) ||
			!slices.Contains(f.Reasons, f.Interruptions[0]) {
			t.Errorf("the fleet says %q, and its reasons are %q", f.Interruptions, f.Reasons)
		}
	}
}
