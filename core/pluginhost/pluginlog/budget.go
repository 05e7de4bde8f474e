package pluginlog

import (
	"time"

	"golang.org/x/time/rate"
)

// What a plugin may put into the manager's log, in bytes: a burst as at a start in
// full detail, and then so many a second. A line costs more than its bytes: it gets
// a time, the names of plugin and provider, and a place in a file.
const (
	burst          = 1 << 20
	bytesPerSecond = 128 << 10
	lineCost       = 256
)

// budget is what a plugin may still write.
type budget struct {
	limiter *rate.Limiter
	dropped int // lines since the last one that had room
}

func newBudget() budget { return budget{limiter: rate.NewLimiter(bytesPerSecond, burst)} }

// spend takes the room for a line of so many bytes, if there is any, and returns
// how many lines before it were dropped.
func (b *budget) spend(now time.Time, size int) (room bool, dropped int) {
	if !b.limiter.AllowN(now, size+lineCost) {
		b.dropped++
		return false, 0
	}
	return true, b.takeDropped()
}

// takeDropped is how many lines were dropped since it was last asked.
func (b *budget) takeDropped() int {
	dropped := b.dropped
	b.dropped = 0
	return dropped
}
