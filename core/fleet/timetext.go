package fleet

import "time"

// TimeText is a time as sentences show it: to the minute, in UTC.
func TimeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
