package retry

import "time"

// Delay is base doubled n times, at most limit. A negative n counts as 0.
func Delay(base time.Duration, n int, limit time.Duration) time.Duration {
	d := base
	for range max(0, n) {
		if d >= limit {
			break
		}
		d *= 2
	}
	return min(d, limit)
}
