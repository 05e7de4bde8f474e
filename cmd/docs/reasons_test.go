package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// reasonsMarkdown is a table of the reasons of each group: their codes, parameters,
// an example of the text, and the doc comment of the type.
func reasonsMarkdown(t *testing.T) string {
	t.Helper()
	comments := reasonComments(t)
	var page strings.Builder
	for _, g := range reason.Groups() {
		fmt.Fprintf(&page, "## %s\n\n| code | given when | parameters | for example |\n|---|---|---|---|\n", g.Title)
		for _, d := range g.Examples {
			kind := reflect.TypeOf(d)
			fmt.Fprintf(
				&page,
				"| `%s` | %s | %s | %s |\n",
				reason.Of(d).Code(),
				comments[kind.Name()],
				parameters(kind),
				cell(d.Text()),
			)
		}
		page.WriteString("\n")
	}
	return page.String()
}

// parameters are the names in JSON of a reason's fields.
func parameters(kind reflect.Type) string {
	var names []string
	for n := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(n).Tag.Get("json"), ",")
		if name == "" {
			names = append(names, strings.Trim(parameters(kind.Field(n).Type), " "))
			continue
		}
		names = append(names, "`"+name+"`")
	}
	return strings.Join(names, ", ")
}

// cell is a text as a cell of a table.
func cell(words string) string { return strings.ReplaceAll(words, "|", `\|`) }

// reasonComments are the doc comments of the types that are reasons, by their names,
// each without the name that it begins with.
func reasonComments(t *testing.T) map[string]string {
	t.Helper()
	comments := map[string]string{}
	for _, f := range reasonFiles(t) {
		for _, declared := range f.Decls {
			general, ok := declared.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			for _, spec := range general.Specs {
				name := spec.(*ast.TypeSpec).Name.Name
				words := strings.Join(strings.Fields(general.Doc.Text()), " ")
				words = strings.TrimPrefix(words, name+": ")
				comments[name] = cell(strings.TrimSuffix(words, "."))
			}
		}
	}
	return comments
}

// reasonFiles are the source files of the package, without its tests.
func reasonFiles(t *testing.T) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "core", "reason", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

func TestEveryReasonIsListed(t *testing.T) {
	listed := map[string]bool{"Unknown": true}
	for _, g := range reason.Groups() {
		for _, d := range g.Examples {
			listed[reflect.TypeOf(d).Name()] = true
		}
	}
	comments := reasonComments(t)
	for _, f := range reasonFiles(t) {
		for _, declared := range f.Decls {
			method, ok := declared.(*ast.FuncDecl)
			if !ok || method.Recv == nil || method.Name.Name != "Text" || len(method.Type.Params.List) > 0 {
				continue
			}
			receiver, ok := method.Recv.List[0].Type.(*ast.Ident)
			if !ok || receiver.Name == "Reason" || !ast.IsExported(receiver.Name) {
				continue
			}
			if !listed[receiver.Name] {
				t.Errorf("%s isn't among the examples of its file, so it can't be read back", receiver.Name)
			}
			if comments[receiver.Name] == "" {
				t.Errorf("%s has no doc comment that says when it is given", receiver.Name)
			}
		}
	}
}
