//go:build unix

package pluginhost

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/testonly/logbuffer"
)

func TestAPluginThatClosesItsLogServesOn(t *testing.T) {
	process := started(t, launch(t, "closed stderr"))
	if _, err := process.Info(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAFloodOfLogLinesFillsNoDiskAndIsTold(t *testing.T) {
	var log logbuffer.Buffer
	l := launch(t, "flood of log lines") // 20 MB
	l.Logger = log.Logger()
	process := started(t, l)
	if _, err := process.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	// All of it is read, and the last lines are there for the cause of a crash.
	eventually(t, "the end of the flood is heard", func() bool {
		return strings.Contains(process.child.Log.LastLines(), "the last word")
	})
	if err := process.Stop(2 * time.Second); err != nil {
		t.Fatal(err)
	}
	written := log.String()
	if len(written) > 10<<20 {
		t.Errorf("%d bytes are in the log", len(written))
	}
	if !strings.Contains(written, "writes more than the log takes") {
		t.Error("the log doesn't say that lines are missing")
	}
}
