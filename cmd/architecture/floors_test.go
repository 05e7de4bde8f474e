package architecture

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floorRow is a line of the table in docs/architecture.md, which is the rule:
// changing it is how a package gets onto another floor.
var floorRow = regexp.MustCompile("^\\| (\\d+) \\| `([a-z/]+)` \\|")

func floors(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]int{}
	for line := range strings.Lines(string(page)) {
		if cells := floorRow.FindStringSubmatch(line); cells != nil {
			floor, err := strconv.Atoi(cells[1])
			if err != nil {
				t.Fatal(err)
			}
			table[cells[2]] = floor
		}
	}
	if len(table) < 10 {
		t.Fatalf("the table of floors in docs/architecture.md can't be read: %v", table)
	}
	return table
}

// corePackage is the package of core that a path belongs to: folders below it are
// part of it, unless the table has a line for them.
func corePackage(table map[string]int, path string) (string, bool) {
	name, inCore := strings.CutPrefix(path, prefix+"core/")
	for strings.Contains(name, "/") {
		if _, listed := table[name]; listed {
			break
		}
		name = name[:strings.LastIndex(name, "/")]
	}
	return name, inCore
}

func TestImportsGoDownwardsAndNeverSideways(t *testing.T) {
	table := floors(t)
	seen := map[string]bool{}
	for _, p := range packages(t, "core") {
		name, inCore := corePackage(table, p.ImportPath)
		if !inCore || !p.own() {
			continue
		}
		seen[name] = true
		floor, known := table[name]
		if !known {
			t.Errorf("%s is on no floor; give it a line in docs/architecture.md", p.ImportPath)
			continue
		}
		// Tests look at their own package and use what lies below, like others, and
		// what is only for tests.
		forTests := func(path string) bool { return strings.HasPrefix(path, prefix+"core/testonly/") }
		imports := slices.Concat(p.Imports, slices.DeleteFunc(slices.Concat(p.TestImports, p.XTestImports), forTests))
		for _, path := range slices.Compact(slices.Sorted(slices.Values(imports))) {
			below, inCore := corePackage(table, path)
			if !inCore || below == name {
				continue
			}
			if other, known := table[below]; known && other >= floor {
				t.Errorf("%s (floor %d) imports %s (floor %d); imports go to lower floors only", name, floor, below, other)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if !seen[name] {
			t.Errorf("docs/architecture.md has a line for core/%s, which doesn't exist", name)
		}
	}
}

func TestCoreImportsOnlyWireAndTagsOfTheSDK(t *testing.T) {
	table := floors(t)
	for _, p := range packages(t, "core") {
		if _, inCore := corePackage(table, p.ImportPath); !inCore || !p.own() {
			continue
		}
		for _, path := range p.Imports {
			shared := path == prefix+"plugin-sdk/providerpb" || path == prefix+"plugin-sdk/blocktag"
			if strings.HasPrefix(path, prefix) && !strings.HasPrefix(path, prefix+"core/") && !shared {
				t.Errorf("%s imports %s; of the SDK core knows only providerpb and blocktag", p.ImportPath, path)
			}
		}
	}
}

func TestEveryCorePackageSaysWhatItIsFor(t *testing.T) {
	table := floors(t)
	for _, p := range packages(t, "core") {
		if _, inCore := corePackage(table, p.ImportPath); !inCore || !p.own() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(p.Dir, "doc.go"))
		if err != nil || !strings.Contains(string(content), "// Package "+p.Name+" ") {
			t.Errorf("%s has no doc.go that begins with \"Package %s\"", p.ImportPath, p.Name)
		}
	}
}
