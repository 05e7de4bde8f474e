package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

func TestCapabilitiesAreShownByTheHostAndNotByTheirNames(t *testing.T) {
	probes := map[string]Probe{
		"works":   CommandProbe("sh", "-c", "echo version 1; echo more"),
		"fails":   CommandProbe("sh", "-c", "echo no daemon >&2; exit 1"),
		"missing": CommandProbe("no-such-command"),
		"device":  deviceProbe("/dev/no-such-device"),
		"chatty":  CommandProbe("sh", "-c", "yes a | tr -d '\\n' | head -c 100000"),
	}
	shown := probeAll(t.Context(), probes, []string{"works", "fails", "missing", "device", "chatty", "unheard-of"})
	for name, want := range map[string]agentapi.Probe{
		"works": {OK: true, Evidence: "version 1"}, "fails": {Evidence: "sh: exit status 1 no daemon"},
		"unheard-of": {Evidence: "this agent has no probe for this capability"},
	} {
		if shown[name] != want {
			t.Errorf("%s is shown as %+v, want %+v", name, shown[name], want)
		}
	}
	if shown["missing"].OK || shown["device"].OK || shown["device"].Evidence == "" {
		t.Errorf("what isn't there is shown as %+v, %+v", shown["missing"], shown["device"])
	}
	if !shown["chatty"].OK || len(shown["chatty"].Evidence) > evidenceLimit {
		t.Errorf("the evidence has %d bytes", len(shown["chatty"].Evidence))
	}
}

func TestAProbeThatHangsIsNoCapability(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	p := CommandProbe("sh", "-c", "sleep 600")(ctx)
	if p.OK || !strings.Contains(p.Evidence, "timed out") {
		t.Errorf("it is shown as %+v", p)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
