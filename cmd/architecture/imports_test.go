package architecture

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the import graph of docs/architecture.md again")

// The marks around the graph in docs/architecture.md.
const (
	graphBegins = "<!-- imports: begin, written by go generate ./cmd/architecture -->\n"
	graphEnds   = "<!-- imports: end -->\n"
)

func TestImportGraphOfThePage(t *testing.T) {
	path := filepath.Join(root, "docs", "architecture.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(content), graphBegins)
	_, after, ends := strings.Cut(rest, graphEnds)
	if !begins || !ends {
		t.Fatal("docs/architecture.md lacks the marks around the import graph")
	}
	want := before + graphBegins + importGraph(t) + graphEnds + after
	if want == string(content) {
		return
	}
	if !*update {
		t.Fatal("the import graph of docs/architecture.md is outdated; run: go generate ./cmd/architecture")
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// importGraph has a line for each package of core, the lowest floor first, with the
// packages of core that it imports.
func importGraph(t *testing.T) string {
	table := floors(t)
	imports := map[string]map[string]bool{}
	width := 0
	for _, p := range packages(t, "core") {
		name, inCore := corePackage(table, p.ImportPath)
		if !inCore || !p.own() || strings.HasPrefix(name, "testonly/") {
			continue
		}
		if imports[name] == nil {
			imports[name] = map[string]bool{}
		}
		width = max(width, len(name))
		for _, path := range p.Imports {
			if below, inCore := corePackage(table, path); inCore && below != name {
				imports[name][below] = true
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(imports), func(a, b string) int {
		if table[a] != table[b] {
			return table[a] - table[b]
		}
		return strings.Compare(a, b)
	})
	var out strings.Builder
	out.WriteString("\n```text\n")
	for _, name := range names {
		line := name
		if below := slices.Sorted(maps.Keys(imports[name])); len(below) > 0 {
			line += strings.Repeat(" ", width-len(name)) + " → " + strings.Join(below, " ")
		}
		out.WriteString(line + "\n")
	}
	out.WriteString("```\n\n")
	return out.String()
}
