package docs

import (
	"regexp"
	"strings"
	"testing"
)

// knownFaults is how many faults the page's first table is about.
const knownFaults = 31

var (
	hostTestName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*)`")
	// notRun are the faults that no machine of ours can show, by their numbers.
	notRun = map[string]bool{"25": true, "26": true, "27": true}
)

// Every fault of a plugin names what shows that the host survives it.
func TestEveryFaultOfAPluginIsCoveredByATestThatExists(t *testing.T) {
	there := testsOfTheRepository(t)
	numbered, further := 0, 0
	for _, row := range tableRows(read(t, "docs/plugin-host.md")) {
		if len(row) != 4 {
			t.Fatalf("the row %q has %d cells", row, len(row))
		}
		switch number := row[0]; {
		case number == "":
			continue // the head
		case number >= "0" && number <= "9~":
			numbered++
		default:
			further++
		}
		names := hostTestName.FindAllStringSubmatch(row[3], -1)
		if said := strings.HasPrefix(row[3], "not run: "); said != notRun[row[0]] || !said && len(names) == 0 {
			t.Errorf("fault %s names %d tests and says %q", row[0], len(names), row[3])
		}
		for _, name := range names {
			if !there[name[1]] {
				t.Errorf("about fault %s the page names %s, which doesn't exist", row[0], name[1])
			}
		}
	}
	if numbered != knownFaults || further < 10 {
		t.Errorf("the page has %d known faults, not %d, and %d further ones", numbered, knownFaults, further)
	}
}

// systemd's default ends plugins together with the manager, which then can't let
// them finish.
func TestTheUnitFileLetsPluginsFinish(t *testing.T) {
	settings := map[string]string{}
	for line := range strings.Lines(read(t, "examples/systemd/forgeyard-fleet.service")) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			settings[key] = value
		}
	}
	for key, want := range map[string]string{
		"KillMode":             "mixed",           // SIGTERM for the manager alone
		"RuntimeDirectory":     "forgeyard-fleet", // sockets that no other program cleans up
		"RuntimeDirectoryMode": "0700",
		"TimeoutStopSec":       "150", // more than the 2 minutes for answers
	} {
		if settings[key] != want {
			t.Errorf("the unit file has %s=%q, want %q", key, settings[key], want)
		}
	}
	if settings["KillSignal"] != "" || settings["SendSIGKILL"] != "" {
		t.Error("the unit file changes how the manager is stopped")
	}
}
