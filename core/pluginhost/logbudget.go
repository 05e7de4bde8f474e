package pluginhost

import "time"

// What a plugin may put into the manager's log: so many bytes at once, as at a
// start in full detail, and then so many a second. A line costs more than its
// bytes: it gets a time, the names of plugin and provider, and a place in a file.
const (
	logBurst       = 1 << 20
	logBytesPerSec = 128 << 10
	logLineCost    = 256
)

// logBudget is what a plugin may still write. The zero value is full.
type logBudget struct {
	spent   float64 // bytes, regained with time
	at      time.Time
	missing int // lines since the last one that had room
}

// spend takes the room for a line of so many bytes, if there is any, and gives
// how many lines before it had none.
func (b *logBudget) spend(now time.Time, size int) (room bool, missing int) {
	if !b.at.IsZero() {
		b.spent = max(0, b.spent-now.Sub(b.at).Seconds()*logBytesPerSec)
	}
	b.at = now
	cost := float64(size + logLineCost)
	if b.spent+cost > logBurst {
		b.missing++
		return false, 0
	}
	b.spent += cost
	missing, b.missing = b.missing, 0
	return true, missing
}
