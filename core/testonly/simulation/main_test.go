package simulation

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage pile up: a run makes much of it and keeps little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
