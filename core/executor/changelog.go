package executor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// sayAgain is how often a continuing failure is logged.
const sayAgain = time.Minute

// changeLog logs what fails over and over when it begins, when it becomes
// another kind of failure and when it is over. In between it says once a minute
// how often it happened: a provider that is away for a night must not push
// everything else out of the log.
type changeLog struct {
	log   *slog.Logger
	clock func() time.Time

	mutex sync.Mutex
	said  map[failing]*saying
	// open counts the failures of a subject since the log last called it well.
	// One that was not said yet is not in it.
	open map[subject]int
}

// subject is one thing that is done over and over.
type subject struct {
	what     string
	provider fleet.ProviderAddress
}

// failing is one kind of failure of a subject. Kinds are few: never a message,
// which may differ each time.
type failing struct {
	subject subject
	kind    string
}

type saying struct {
	last   time.Time
	unsaid int
}

func newChangeLog(log *slog.Logger, clock func() time.Time) *changeLog {
	return &changeLog{log: log, clock: clock, said: map[failing]*saying{}, open: map[subject]int{}}
}

// failed notes a failure of the kind and logs it where it is news.
func (c *changeLog) failed(level slog.Level, s subject, kind, message string, details ...any) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	before := c.said[failing{s, kind}]
	if before == nil {
		before = &saying{}
		c.said[failing{s, kind}] = before
	}
	now := c.clock()
	before.unsaid++
	if !before.last.IsZero() && now.Sub(before.last) < sayAgain {
		if c.open[s] > 0 {
			c.open[s]++
		}
		return
	}
	c.open[s]++
	c.write(level, s, message, append(details, "times", before.unsaid)...)
	*before = saying{last: now}
}

// well notes a success. It is news where the last that was said of the subject
// is a failure, and so no more frequent than that.
func (c *changeLog) well(s subject) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if failures := c.open[s]; failures > 0 {
		delete(c.open, s)
		c.write(slog.LevelInfo, s, s.what+" is well again", "failures", failures)
	}
}

func (c *changeLog) write(level slog.Level, s subject, message string, details ...any) {
	log := c.log
	if s.provider != "" {
		log = log.With("provider", s.provider)
	}
	log.Log(context.Background(), level, message, details...)
}
