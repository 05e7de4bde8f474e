package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	backquoted    = regexp.MustCompile("`([^`]+)`")
	simulationFor = regexp.MustCompile(`TestEveryInvariantHoldsForEverySeed. \(([^)]*)\)`)
)

// ofSection is a row of the table of tests that the specification asks for.
var (
	ofSection  = regexp.MustCompile(`^[0-9]{3}$`)
	testOrFuzz = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)`")
)

// checkSection holds such a row against the tests that there are.
func checkSection(t *testing.T, there map[string]bool, row []string) {
	t.Helper()
	names := testOrFuzz.FindAllStringSubmatch(row[2], -1)
	if len(names) == 0 {
		t.Errorf("the section %s names no test", row[0])
	}
	for _, name := range names {
		if !there[name[1]] {
			t.Errorf("about the section %s the page names %s, which doesn't exist", row[0], name[1])
		}
	}
}

// Every invariant names tests that exist and files that exist, or says that it is
// for later.
func TestEveryInvariantIsHeldByATestThatExists(t *testing.T) {
	there := testsOfTheRepository(t)
	files, err := filepath.Glob(filepath.Join(root, "core/testonly/simulation/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	simulated := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		simulated += string(text)
	}
	rows := 0
	for _, row := range tableRows(read(t, "docs/invariants.md")) {
		if row[0] == "invariant" {
			continue
		}
		if ofSection.MatchString(row[0]) {
			checkSection(t, there, row)
			continue
		}
		rows++
		names := testName.FindAllStringSubmatch(row[1], -1)
		if later := strings.HasPrefix(row[1], "not yet"); later != (len(names) == 0) {
			t.Errorf("the invariant %q names %d tests, and says %q", row[0], len(names), row[1])
		}
		for _, name := range names {
			if !there[name[1]] {
				t.Errorf("about the invariant %q the page names %s, which doesn't exist", row[0], name[1])
			}
		}
		for _, which := range simulationFor.FindAllStringSubmatch(row[1], -1) {
			for _, function := range backquoted.FindAllStringSubmatch(which[1], -1) {
				if !strings.Contains(simulated, "func (w *world) "+function[1]+"(") {
					t.Errorf("about the invariant %q the page names the simulation's %s, which doesn't exist", row[0], function[1])
				}
			}
		}
		for _, path := range backquoted.FindAllStringSubmatch(row[2], -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(path[1]))); err != nil {
				t.Errorf("about the invariant %q the page names the code %s: %v", row[0], path[1], err)
			}
		}
	}
	if rows != 30 {
		t.Errorf("the table has %d rows, and section 298 has 30 invariants", rows)
	}
}
