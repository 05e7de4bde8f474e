package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/source"
	"github.com/forgeyard/forgeyard-fleet/core/config/suggestion"
)

// Variables are the values that a user gives from outside. Assignments win over
// files, files over the environment, and that over a variable's default; of two
// of a kind the later one wins.
//
// For a variable of type string, number, bool or none the text is the value;
// for any other type it is an HCL expression.
type Variables struct {
	// Assignments are name=value, as given to --var.
	Assignments []string `json:"assignments,omitempty"`
	// Files are files of name = value lines, as given to --var-file.
	Files []source.File `json:"files,omitempty"`
	// Environment is KEY=VALUE lines; those that begin with FLEET_VAR_ count.
	// A line for a variable that isn't declared is a warning and not an error:
	// the environment is shared.
	Environment []string `json:"environment,omitempty"`
}

// VariablePrefix begins the environment variables that set variables.
const VariablePrefix = "FLEET_VAR_"

// outsideValue is a value from outside: text that is yet to be read by the variable's
// type, or an expression of a file.
type outsideValue struct {
	source string
	text   string
	expr   hclsyntax.Expression
}

// givenValues sorts what came from outside by variable.
func (l *loader) givenValues(variables Variables, sensitive map[string]bool) map[string]outsideValue {
	values := map[string]outsideValue{}
	var ignored []string
	for _, line := range variables.Environment {
		key, text, ok := strings.Cut(line, "=")
		name, found := strings.CutPrefix(key, VariablePrefix)
		switch {
		case !ok || !found:
		case slices.Contains(l.scope.Names["var"], name):
			values[name] = outsideValue{source: key, text: text}
		default:
			ignored = append(ignored, name)
		}
	}
	if len(ignored) > 0 {
		l.Warn(hcl.Range{}, "", undeclared(ignored, l.scope.Names["var"]), "")
	}
	for _, file := range variables.Files {
		l.givenInFile(file, values, len(sensitive) > 0)
	}
	for _, assignment := range variables.Assignments {
		name, text, ok := strings.Cut(assignment, "=")
		name = strings.TrimSpace(name)
		source := "--var " + diagnostic.Clip(name)
		// What is misspelt may be the name of a secret.
		l.AddText(source, []byte(name))
		at := hcl.Range{
			Filename: source,
			Start:    hcl.InitialPos,
			End:      hcl.Pos{Line: 1, Column: len(name) + 1, Byte: len(name)},
		}
		switch {
		case !ok:
			l.Fail(at, "", "A --var has no value", "Write: --var name=value")
		case name == "":
			l.Fail(at, "", "A --var has no name", "Write: --var name=value")
		case !slices.Contains(l.scope.Names["var"], name):
			l.Fail(at, "", fmt.Sprintf("Unknown variable %q", diagnostic.Clip(name)), l.scope.DeclareHint("var", name))
		default:
			values[name] = outsideValue{source: source, text: text}
		}
	}
	return values
}

// mostUndeclared is how many undeclared variables a warning names.
const mostUndeclared = 5

// undeclared is one line for all of them: the environment is shared, so it is shown with
// each command.
func undeclared(names, declared []string) string {
	if len(names) == 1 {
		line := fmt.Sprintf("%s is ignored: no variable %q is declared", diagnostic.Clip(VariablePrefix+names[0]),
			diagnostic.Clip(names[0]))
		if near := suggestion.Nearest(names[0], declared); near != "" {
			line += fmt.Sprintf("; did you mean %q?", near)
		}
		return line
	}
	slices.Sort(names)
	var named []string
	for _, name := range names[:min(len(names), mostUndeclared)] {
		one := diagnostic.Clip(VariablePrefix + name)
		if near := suggestion.Nearest(name, declared); near != "" {
			one += fmt.Sprintf(" (did you mean %q?)", near)
		}
		named = append(named, one)
	}
	if more := len(names) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	return strings.Join(named, ", ") + " are ignored: no such variables are declared"
}

// givenInFile reads a file of variables. Where one is sensitive, no line of the
// file is shown.
func (l *loader) givenInFile(file source.File, values map[string]outsideValue, hidden bool) {
	parsed, ok := l.parser.Parse(l.Collector, file)
	if hidden {
		l.HideText(file.Name)
	}
	if !ok {
		return
	}
	for _, block := range parsed.Blocks {
		l.Fail(block.TypeRange, "", "A file of variables holds no blocks", "Write lines of the form: name = value")
	}
	for _, attribute := range source.InTextOrder(parsed.Attributes) {
		if !slices.Contains(l.scope.Names["var"], attribute.Name) {
			l.Fail(
				attribute.NameRange,
				"",
				fmt.Sprintf("Unknown variable %q", diagnostic.Clip(attribute.Name)),
				l.scope.DeclareHint("var", attribute.Name),
			)
			continue
		}
		values[attribute.Name] = outsideValue{source: file.Name, expr: attribute.Expr}
	}
}

// read gives the value of what came from outside, before it is converted to the
// variable's type.
func (l *loader) read(value outsideValue, declared cty.Type) (cty.Value, hcl.Range, bool) {
	plain := l.scope.Constants("A value from outside can't refer to the fleet files.")
	if value.expr != nil {
		result, ok := plain.Evaluate(l.Collector, value.expr, "")
		return result, value.expr.Range(), ok
	}
	text := source.File{Name: value.source, Bytes: []byte(value.text)}
	l.AddText(text.Name, text.Bytes)
	at := hcl.Range{
		Filename: value.source,
		Start:    hcl.InitialPos,
		End:      hcl.Pos{Line: 1, Column: len(value.text) + 1, Byte: len(value.text)},
	}
	if declared.IsPrimitiveType() || declared == cty.DynamicPseudoType {
		return cty.StringVal(value.text), at, true
	}
	expr, ok := l.parser.ParseExpression(l.Collector, text)
	if !ok {
		return cty.NilVal, at, false
	}
	result, ok := plain.Evaluate(l.Collector, expr, "")
	return result, at, ok
}
