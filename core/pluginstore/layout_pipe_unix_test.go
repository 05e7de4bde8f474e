//go:build unix

package pluginstore

import (
	"path/filepath"
	"syscall"
	"testing"
)

// The pipe has no reader: opening it to write waited for ever.
func TestAPipeInALayoutHoldsNoPublisher(t *testing.T) {
	origin := layoutOf(t)
	publish(t, origin, releaseOf(t, example, "1.0.0", nil))
	if err := syscall.Mkfifo(filepath.Join(origin.Layout, "index.json.new"), 0o600); err != nil {
		t.Fatal(err)
	}
	publish(t, origin, releaseOf(t, example, "1.1.0", nil))
}
