package agentserver

import (
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

const (
	// sameTime is how far a deadline may move from beat to beat and be the same: it
	// is told as a duration, and the way takes time.
	sameTime = 5 * time.Second
	// farthestNotice bounds what an agent can say about the future, and the past.
	farthestNotice = 60 * 24 * time.Hour
	maxDetail      = 256
)

// noticesOf keeps an agent's notices, with deadlines by the manager's clock. before
// are those of its last beat: a deadline that is about the same is the same, so that
// beats without news write nothing. What isn't understood is left out.
func noticesOf(said []agentapi.Notice, before []fleet.Notice, now time.Time) []fleet.Notice {
	var kept []fleet.Notice
	for _, n := range said[:min(len(said), fleet.MaxNotices)] {
		notice := fleet.Notice{ID: clean(n.ID, maxName), Kind: fleet.NoticeKind(n.Kind), Detail: clean(n.Detail, maxDetail)}
		if !notice.Kind.Known() || notice.ID == "" {
			continue
		}
		if n.DeadlineSeconds != nil {
			most := farthestNotice.Seconds()
			left := min(max(*n.DeadlineSeconds, -most), most)
			notice.Deadline = now.Add(time.Duration(left * float64(time.Second))).UTC()
		}
		if at := slices.IndexFunc(
			before,
			func(b fleet.Notice) bool { return b.ID == notice.ID },
		); at >= 0 && !notice.Deadline.IsZero() &&
			!before[at].Deadline.IsZero() {
			if moved := notice.Deadline.Sub(before[at].Deadline); moved.Abs() <= sameTime {
				notice.Deadline = before[at].Deadline
			}
		}
		kept = append(kept, notice)
	}
	return kept
}
