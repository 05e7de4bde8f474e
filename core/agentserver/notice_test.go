package agentserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestRepeatedDeadlineStaysTheSame(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	said := func(left float64) []agentapi.Notice {
		return []agentapi.Notice{
			{ID: "spot", Kind: agentapi.NoticeInterruption, DeadlineSeconds: &left, Detail: "AWS spot: terminate"},
		}
	}
	first := noticesOf(said(120), nil, now)
	again := noticesOf(said(109.2), first, now.Add(10*time.Second))
	if len(first) != 1 || !first[0].Deadline.Equal(now.Add(2*time.Minute)) || again[0] != first[0] {
		t.Errorf("first %+v, then %+v: every beat would be a write", first, again)
	}
	if earlier := noticesOf(
		said(60),
		first,
		now.Add(10*time.Second),
	); !earlier[0].Deadline.Equal(
		now.Add(70 * time.Second),
	) {
		t.Errorf("a deadline that comes forward is %+v", earlier)
	}
	if gone := noticesOf(nil, first, now); len(gone) != 0 {
		t.Errorf("what isn't reported any more is kept: %+v", gone)
	}
}

func TestAnAgentsNoticesAreBoundedAndCleaned(t *testing.T) {
	forever := 1e300
	var said []agentapi.Notice
	for n := range 100 {
		said = append(
			said,
			agentapi.Notice{
				ID:              fmt.Sprint(n),
				Kind:            agentapi.NoticeRebalance,
				DeadlineSeconds: &forever,
				Detail:          "\x1b[2J" + strings.Repeat("x", 1<<16),
			},
		)
	}
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	kept := noticesOf(said, nil, now)
	if len(kept) != fleet.MaxNotices || len(kept[0].Detail) != maxDetail || strings.Contains(kept[0].Detail, "\x1b") ||
		kept[0].Deadline.Sub(now) > farthestNotice {
		t.Errorf("%d are kept, the first of them %.80q at %s", len(kept), kept[0].Detail, kept[0].Deadline)
	}
	if odd := noticesOf(
		[]agentapi.Notice{{ID: "x", Kind: "of a newer agent"}, {Kind: agentapi.NoticeRebalance}},
		nil,
		now,
	); len(
		odd,
	) != 0 {
		t.Errorf("what isn't understood is %+v", odd)
	}
}
