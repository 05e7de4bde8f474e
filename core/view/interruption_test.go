package view

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func TestWhatAProviderAnnouncedIsShownWithWhatFollowsFromIt(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for want, i := range map[string]fleet.Interruption{
		"Its provider takes it away at 2026-11-29T12:02:00Z (AWS spot: terminate), as its agent heard at 2026-11-29T12:00:00Z: it gets no more jobs, and those that it has then are run again.": {
			Notice: fleet.Notice{Kind: fleet.NoticeInterruption, Deadline: at.Add(2 * time.Minute), Detail: "AWS spot: terminate"}, Source: fleet.NoticedByAgent, Heard: at},
		"Its provider says that it may be taken away soon, as its provider heard at 2026-11-29T12:00:00Z: it leaves after its jobs.": {
			Notice: fleet.Notice{Kind: fleet.NoticeRebalance}, Source: fleet.NoticedByProvider, Heard: at},
		"Its provider takes it away, as its agent heard at 2026-11-29T12:00:00Z and withdrawn at 2026-11-29T12:01:00Z: it leaves after its jobs.": {
			Notice: fleet.Notice{Kind: fleet.NoticeInterruption}, Source: fleet.NoticedByAgent, Heard: at, Withdrawn: at.Add(time.Minute)},
	} {
		s := state(fleet.Draining)
		s.Instances[0].Interruption = &i
		shown := One(s.Instances[0], "fleet.demo", nil, nil)
		if shown.Interruption == nil || shown.Interruption.Sentence != want {
			t.Errorf("it says\n%+v\nwant\n%s", shown.Interruption, want)
		}
		f := Fleets(snapshot.Snapshot{Now: at, State: s})[0]
		if len(f.Interruptions) != 1 || !strings.HasSuffix(f.Interruptions[0], want) || !strings.Contains(strings.Join(f.Reasons, "\n"), want) {
			t.Errorf("the fleet says %q, and its reasons are %q", f.Interruptions, f.Reasons)
		}
	}
}
