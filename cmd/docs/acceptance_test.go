package docs

import (
	"regexp"
	"strings"
	"testing"
)

// testOrBenchmark are the names that the page of acceptance may give.
var testOrBenchmark = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*)`")

// Whatever the specification asks for before fleets count as done names tests that
// exist, or says what is missing.
func TestWhatIsAskedForInTheEndIsShownByTestsThatExist(t *testing.T) {
	there := testsOfTheRepository(t)
	rows := tableRows(read(t, "docs/acceptance.md"))
	for _, row := range rows {
		names := testOrBenchmark.FindAllStringSubmatch(row[1], -1)
		if later := strings.HasPrefix(row[1], "not yet"); later != (len(names) == 0) {
			t.Errorf("about %q the page names %d tests, and says %q", row[0], len(names), row[1])
		}
		for _, name := range names {
			if !there[name[1]] {
				t.Errorf("about %q the page names %s, which doesn't exist", row[0], name[1])
			}
		}
	}
	const acceptance, gates = 35, 10 // of the sections 296 and 297
	if len(rows) != acceptance+gates {
		t.Errorf("the page has %d rows, and the sections ask for %d things", len(rows), acceptance+gates)
	}
}
