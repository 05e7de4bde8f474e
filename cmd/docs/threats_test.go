package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")

// Every row of the table of threats names a test, and each of them exists.
func TestEveryThreatIsCoveredByATestThatExists(t *testing.T) {
	_, section, found := strings.Cut(read(t, "docs/security.md"), "\n## Threats\n")
	if !found {
		t.Fatal("the page has no section about threats")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	there := testsOfTheRepository(t)
	rows := 0
	for _, row := range tableRows(section) {
		if row[0] == "threat" {
			continue
		}
		rows++
		names := testName.FindAllStringSubmatch(row[len(row)-1], -1)
		if len(names) == 0 {
			t.Errorf("no test is named for the threat %q", row[0])
		}
		for _, name := range names {
			if !there[name[1]] {
				t.Errorf("about the threat %q the page names %s, which doesn't exist", row[0], name[1])
			}
		}
	}
	if rows < 10 {
		t.Errorf("the table has %d rows", rows)
	}
}

// testsOfTheRepository are the names of all test functions.
func testsOfTheRepository(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
