package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPackagesAreNamedForWhatTheyHold(t *testing.T) {
	says := []string{
		"util",
		"utils",
		"common",
		"helper",
		"helpers",
		"type",
		"types",
		"manager",
		"managers",
		"misc",
		"base",
		"shared",
	}
	for _, module := range modules(t) {
		for _, p := range packages(t, module) {
			if p.own() && (slices.Contains(says, p.Name) || slices.Contains(says, filepath.Base(p.Dir))) {
				t.Errorf("the name of %s says nothing of what is in it", p.ImportPath)
			}
		}
	}
}

// sleepers are the functions of tests that may call time.Sleep: a package's one
// helper that polls a condition until a deadline, and processes that are meant
// to hang.
var sleepers = map[string]string{
	"core/agent/job_test.go:waitFor":                                          "polls",
	"core/agent/job_test.go:TestProcessesOfAKilledAgentAreFoundByMarkOrGroup": "polls",
	"core/queue/worker/lab_test.go:waitFor":                                   "polls",
	"core/agentserver/world_test.go:eventually":                               "polls",
	"core/pluginhost/death_test.go:runHost":                                   "hangs until it is killed",
	"core/pluginhost/testplugin_test.go:servePlugin":                          "hangs until it is killed",
	"plugin-sdk/provider/harness_test.go:eventually":                          "polls",
	"plugins/aws/internal/aws/placing_test.go:TestKeysAtOnceShareNoFreeHost":  "polls",
	"plugins/libvirt/internal/libvirt/lab_test.go:eventually":                 "polls",
	"plugins/local/internal/local/harness_test.go:eventually":                 "polls",
	"plugins/local/internal/local/harness_test.go:playAgent":                  "is an agent that starts slowly",
}

func TestTestsDoNotSleep(t *testing.T) {
	unused := maps.Clone(sleepers)
	walk(t, func(path string, _ fs.DirEntry) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(root, path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if imports(file, "testing/synctest") {
			return // time is the test's own there
		}
		for _, declaration := range file.Decls {
			where := fmt.Sprintf("%s:%s", filepath.ToSlash(path), nameOf(declaration))
			ast.Inspect(declaration, func(node ast.Node) bool {
				if !isTimeSleep(node) {
					return true
				}
				if _, allowed := sleepers[where]; !allowed {
					t.Errorf("%s: time.Sleep in %s; wait for an event, or poll with a deadline", files.Position(node.Pos()), where)
				}
				delete(unused, where)
				return true
			})
		}
	})
	for where := range unused {
		t.Errorf("%s no longer sleeps; take it off the list", where)
	}
}

func isTimeSleep(node ast.Node) bool {
	selector, ok := node.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Sleep" {
		return false
	}
	name, ok := selector.X.(*ast.Ident)
	return ok && name.Name == "time"
}

func imports(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"`+path+`"` })
}

func nameOf(d ast.Decl) string {
	if function, ok := d.(*ast.FuncDecl); ok {
		return function.Name.Name
	}
	return "a declaration"
}
