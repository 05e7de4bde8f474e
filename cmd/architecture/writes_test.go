package architecture

import (
	"go/ast"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyTheLoopWritesInstances: an instance that something else writes has no intent
// before it, and no step that knows of it. Everything else stores what it asks for, and
// the loop takes that up.
func TestOnlyTheLoopWritesInstances(t *testing.T) {
	loop := false
	for path, f := range sourceFilesBelow(t, "core", "cmd") {
		if strings.HasPrefix(path, "core/store/") || strings.HasPrefix(path, "core/testonly/") {
			continue
		}
		ast.Inspect(f, func(node ast.Node) bool {
			literal, ok := node.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if of, name := selected(literal.Type); of == "store" && name == "Change" {
				loop = loop || strings.HasPrefix(path, "core/loop/")
				if !strings.HasPrefix(path, "core/loop/") {
					t.Errorf("%s makes a store.Change; give the loop an order, or store what is asked for", path)
				}
			}
			return true
		})
	}
	if !loop {
		t.Error("core/loop makes no store.Change either: this test looks for the wrong thing")
	}
}

// sourceFilesBelow are the files that aren't tests in the folders and all below them.
func sourceFilesBelow(t *testing.T, folders ...string) map[string]*ast.File {
	t.Helper()
	all := map[string]*ast.File{}
	for _, top := range folders {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			folder, err := filepath.Rel(root, path)
			if err == nil && entry.Name() != "testdata" {
				maps.Copy(all, sourceFiles(t, filepath.ToSlash(folder)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}
