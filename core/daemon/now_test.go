package daemon

import (
	"time"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
