package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// deciding are the packages that give reasons, and so have no text of their own.
var deciding = []string{"core/planner", "core/planner/forecast", "core/view", "core/loop", "core/inventory", "core/ci"}

// searches are the functions of package strings that look into a text or cut it.
var searches = []string{
	"Contains",
	"HasPrefix",
	"HasSuffix",
	"Index",
	"Cut",
	"CutPrefix",
	"CutSuffix",
	"TrimPrefix",
	"TrimSuffix",
	"Split",
	"EqualFold",
}

// TestDecidingCodeHasNoTextOfItsOwn: a reason is data from core/reason. Text that is made
// where something is decided can't be compared, translated into another wording, or
// told from a text that looks alike.
func TestDecidingCodeHasNoTextOfItsOwn(t *testing.T) {
	for _, folder := range deciding {
		for path, f := range sourceFiles(t, folder) {
			ast.Inspect(f, func(node ast.Node) bool {
				switch n := node.(type) {
				case *ast.Field:
					return n.Tag == nil // tags are no text
				case *ast.ImportSpec:
					return false
				case *ast.CallExpr:
					of, name := selected(n.Fun)
					if of == "fmt" && name == "Errorf" || of == "errors" && name == "New" {
						return false // a program that fails says so in its own words
					}
					if of == "fmt" {
						t.Errorf("%s calls fmt.%s; give a reason of core/reason", path, name)
					}
				case *ast.BasicLit:
					if words, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && strings.Contains(words, " ") {
						t.Errorf("%s has the text %s; give a reason of core/reason", path, n.Value)
					}
				}
				return true
			})
		}
	}
}

func TestNobodySearchesTheTextOfAReason(t *testing.T) {
	walk(t, func(path string, _ fs.DirEntry) {
		path = filepath.ToSlash(path)
		own := strings.HasPrefix(path, "core/") || strings.HasPrefix(path, "cmd/")
		if !own || strings.HasPrefix(path, "core/reason/") || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if imports(f, "bufio") {
			return // a scanner has a Text, too
		}
		ast.Inspect(f, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if of, name := selected(
				call.Fun,
			); of == "strings" && slices.Contains(searches, name) &&
				slices.ContainsFunc(call.Args, isText) {
				t.Errorf("%s looks into the text of a reason with strings.%s; compare its code or parameters", path, name)
			}
			return true
		})
	})
}

// isText says that an expression is the text of a reason.
func isText(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	_, method := selected(call.Fun)
	return method == "Text" || method == "TextAt"
}

// selected are the two names of a selector such as strings.Contains.
func selected(e ast.Expr) (of, name string) {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if x, ok := selector.X.(*ast.Ident); ok {
		of = x.Name
	}
	return of, selector.Sel.Name
}

// sourceFiles are the files of a folder, without its tests, by their paths.
func sourceFiles(t *testing.T, folder string) map[string]*ast.File {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		path := folder + "/" + name
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = f
	}
	return files
}
