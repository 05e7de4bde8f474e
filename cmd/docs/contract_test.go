package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// stringConstants are the string constants of a Go file by name.
func stringConstants(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(path)), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if i >= len(spec.Values) {
				continue
			}
			if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				found[name.Name], _ = strconv.Unquote(literal.Value)
			}
		}
		return true
	})
	return found
}

func TestTheAgentsPageHasEveryPathFieldAndProblem(t *testing.T) {
	page := read(t, "docs/agent-api.md")
	codes := map[string]string{} // code to what the agent does
	for _, row := range tableRows(page) {
		codes[strings.Trim(row[0], "`")] = row[len(row)-1]
	}
	paths, problems := 0, 0
	constants := stringConstants(t, "core/agentapi/agentapi.go")
	maps.Copy(constants, stringConstants(t, "core/agentapi/problem.go"))
	for name, value := range constants {
		switch {
		case strings.HasSuffix(name, "Path"):
			paths++
			if !strings.Contains(page, " "+value) {
				t.Errorf("the page lacks the path %s", value)
			}
		case strings.HasPrefix(name, "Code"):
			problems++
			does, listed := codes[value]
			if !listed {
				t.Errorf("no row of the page is about the problem %s", value)
			} else if reaction := agentapi.ReactionTo(value); does != string(reaction) {
				t.Errorf("about %s an agent %s, and the page says that it %s", value, reaction, does)
			}
		}
	}
	if paths == 0 || problems == 0 {
		t.Fatalf("%d paths and %d problems were found in the code", paths, problems)
	}
	for _, wire := range []any{
		agentapi.EnrollRequest{}, agentapi.EnrollResponse{}, agentapi.Certificate{}, agentapi.Heartbeat{}, agentapi.Probe{},
		agentapi.HeartbeatResponse{}, agentapi.Trust{},
		agentapi.Directive{}, agentapi.RenewRequest{}, agentapi.LeaveRequest{}, agentapi.Problem{},
	} {
		kind := reflect.TypeOf(wire)
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if name != "" && !strings.Contains(page, "`"+name+"`") {
				t.Errorf("the page lacks the field %s of %s", name, kind.Name())
			}
		}
	}
}

func TestThePluginPageSaysWhatTheManagerDoesOnEveryClassOfError(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/writing-a-plugin.md"), "\n## Errors\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, row := range tableRows(section) {
		listed = append(listed, strings.ToLower(strings.Trim(row[0], "`")))
	}
	for _, class := range []fleet.ErrorClass{
		fleet.ErrorAuth, fleet.ErrorPermission, fleet.ErrorQuota, fleet.ErrorCapacity, fleet.ErrorRateLimit,
		fleet.ErrorInvalid, fleet.ErrorConflict, fleet.ErrorTransient, fleet.ErrorInternal,
	} {
		if !slices.Contains(listed, strings.ReplaceAll(string(class), "_", "")) {
			t.Errorf("no row is about the class %s", class)
		}
	}
}

// Go on a page is taken from code that is compiled and tested: the example
// plugin, the SDK with its own example, and what a new plugin begins with.
func TestGoOnAPageIsVerbatimFromTheCode(t *testing.T) {
	var sources []string
	for _, pattern := range []string{"examples/plugin-process/*.go", "plugin-sdk/provider/*.go",
		"cmd/forgeyard-fleet/pluginauthor/scaffold/*.go.txt"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, path := range files {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, strings.ReplaceAll(string(content), "@NAME@", "acme"))
		}
	}
	for _, page := range pages(t) {
		for n, block := range codeBlocks(read(t, page), "go") {
			if !slices.ContainsFunc(sources, func(source string) bool { return strings.Contains(source, block) }) {
				t.Errorf("%s: Go block %d is in no source file:\n%s", page, n+1, block)
			}
		}
	}
}
