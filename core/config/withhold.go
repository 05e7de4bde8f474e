package config

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/config/source"
)

// Sensitive tells the sensitive variables of fleet files that load without
// errors.
type Sensitive struct {
	// Names are of all of them, sorted.
	Names []string `json:"names,omitempty"`
	// Needed are those that must be given, since no default is left.
	Needed []string `json:"needed,omitempty"`
}

// WithholdSensitive gives files and variables without what may be shown nowhere:
// the values of sensitive variables and their defaults (an empty one tells
// nothing and stays), and lines of the environment that set no variable. The definition is the same, since nothing
// sensitive can be part of it, but the needed values must be given again before
// the files load. Both must have loaded without errors.
func WithholdSensitive(sources []source.File, variables Variables) ([]source.File, Variables, Sensitive) {
	l := newLoader()
	root, ok := l.parseAll(sources)
	if !ok {
		return nil, Variables{}, Sensitive{} // not what was promised: nothing is better than a secret
	}
	var found Sensitive
	var plain []string
	for _, block := range root.children("variable", "NAME") {
		declared := l.declareVariable(block)
		if !declared.sensitive {
			plain = append(plain, declared.name)
			continue
		}
		found.Names = append(found.Names, declared.name)
		if !emptyDefault(block.attribute("default")) {
			found.Needed = append(found.Needed, declared.name)
		}
	}
	slices.Sort(found.Names)
	slices.Sort(found.Needed)
	kept := make([]source.File, 0, len(sources))
	for _, source := range sources {
		kept = append(kept, withoutDefaults(source, found.Needed))
	}
	return kept, variables.Only(plain), found
}

// emptyDefault says whether a default tells nothing: null or no text at all.
func emptyDefault(attribute *hclsyntax.Attribute) bool {
	if attribute == nil {
		return false
	}
	value, ok := expression.Literal(attribute.Expr)
	return ok && (value.IsNull() || value.Type() == cty.String && value.AsString() == "")
}

// withoutDefaults is a file whose variables of these names have no default,
// and no comment on it.
func withoutDefaults(file source.File, names []string) source.File {
	if len(names) == 0 {
		return file
	}
	parsed, problems := hclwrite.ParseConfig(file.Bytes, file.Name, hcl.InitialPos)
	if problems.HasErrors() {
		return source.File{Name: file.Name}
	}
	for _, block := range parsed.Body().Blocks() {
		if labels := block.Labels(); block.Type() == "variable" && len(labels) == 1 && slices.Contains(names, labels[0]) {
			block.Body().RemoveAttribute("default")
		}
	}
	return source.File{Name: file.Name, Bytes: parsed.Bytes()}
}

// Only gives what sets the variables of these names. Files are rewritten from
// their values, without comments; one that doesn't parse sets nothing.
func (v Variables) Only(names []string) Variables {
	var only Variables
	for _, assignment := range v.Assignments {
		if name, _, _ := strings.Cut(assignment, "="); slices.Contains(names, strings.TrimSpace(name)) {
			only.Assignments = append(only.Assignments, assignment)
		}
	}
	for _, line := range v.Environment {
		key, _, _ := strings.Cut(line, "=")
		if name, found := strings.CutPrefix(key, VariablePrefix); found && slices.Contains(names, name) {
			only.Environment = append(only.Environment, line)
		}
	}
	for _, file := range v.Files {
		if text := onlyInFile(file, names); len(text) > 0 {
			only.Files = append(only.Files, source.File{Name: file.Name, Bytes: text})
		}
	}
	return only
}

// onlyInFile is a file of variables with only the lines of some names.
func onlyInFile(file source.File, names []string) []byte {
	l := newLoader()
	parsed, ok := l.parser.Parse(l.Collector, file)
	if !ok {
		return nil
	}
	plain := l.scope.Constants("A value from outside can't refer to the fleet files.")
	written := hclwrite.NewEmptyFile()
	for _, attribute := range source.InTextOrder(parsed.Attributes) {
		if !slices.Contains(names, attribute.Name) {
			continue
		}
		if value, ok := plain.Evaluate(l.Collector, attribute.Expr, ""); ok {
			written.Body().SetAttributeValue(attribute.Name, value)
		}
	}
	return written.Bytes()
}

// Assigned are the names of the assignments, in their order.
func (v Variables) Assigned() []string {
	var names []string
	for _, assignment := range v.Assignments {
		name, _, _ := strings.Cut(assignment, "=")
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

// Sets says whether something sets a variable.
func (v Variables) Sets(name string) bool {
	only := v.Only([]string{name})
	return len(only.Assignments)+len(only.Environment)+len(only.Files) > 0
}

// With adds other values, which win over those of the same kind.
func (v Variables) With(other Variables) Variables {
	return Variables{
		Assignments: slices.Concat(v.Assignments, other.Assignments),
		Files:       slices.Concat(v.Files, other.Files),
		Environment: slices.Concat(v.Environment, other.Environment),
	}
}
