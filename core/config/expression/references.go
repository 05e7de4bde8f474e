package expression

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/suggestion"
)

// checkReferences checks every reference in our own words, since the expression
// evaluator only knows of objects without attributes.
func (s *Scope) checkReferences(report *diagnostic.Collector, expr hclsyntax.Expression, where string) bool {
	if reference, ok := expr.(*hclsyntax.ScopeTraversalExpr); ok {
		summary, detail := s.checkReference(reference.Traversal)
		if summary != "" {
			report.Fail(reference.Traversal.SourceRange(), where, summary, detail)
		}
		return summary == ""
	}
	fine := true
	for _, traversal := range expr.Variables() {
		if summary, detail := s.checkReference(traversal); summary != "" {
			report.Fail(traversal.SourceRange(), where, summary, detail)
			fine = false
		}
	}
	return s.checkCalls(report, expr, where) && fine
}

// checkCalls checks the names of functions. The evaluator would as well, but of
// two near names it suggests now one and now the other.
func (s *Scope) checkCalls(report *diagnostic.Collector, expr hclsyntax.Expression, where string) bool {
	fine := true
	problems := hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		chargeExpression(node)
		call, ok := node.(*hclsyntax.FunctionCallExpr)
		if !ok || call.Name == countElements || call.Name == countWeight {
			return nil
		}
		if call.Name == "secret" {
			fine = s.checkSecret(report, call, where) && fine
			return nil
		}
		if _, known := functions[call.Name]; !known {
			report.Fail(call.NameRange, where, fmt.Sprintf("Unknown function %q", diagnostic.Clip(call.Name)),
				functionHint(call.Name))
			fine = false
		}
		return nil
	})
	return fine && !problems.HasErrors()
}

// otherWays are what to write instead of functions that Terraform users know and a
// fleet file hasn't, since it reads nothing but itself.
var otherWays = map[string]string{
	"file": "Fleet files read no other files. Write the text here, or set a variable from FLEET_VAR_NAME or " +
		"--var-file; for a secret, write secret(\"file:/path\").",
	"templatefile": "Fleet files read no other files. Write the text here, or set a variable from FLEET_VAR_NAME or " +
		"--var-file.",
	"env": "Fleet files read no environment. Declare a variable, which FLEET_VAR_NAME sets; for a secret, write " +
		"secret(\"env:NAME\").",
	"getenv": "Fleet files read no environment. Declare a variable, which FLEET_VAR_NAME sets; for a secret, write " +
		"secret(\"env:NAME\").",
}

func functionHint(name string) string {
	if hint, known := otherWays[name]; known {
		return hint
	}
	return suggestion.For(name, "functions", slices.Collect(maps.Keys(functions)))
}

func (s *Scope) checkReference(traversal hcl.Traversal) (summary, detail string) {
	root := traversal.RootName()
	if s.constant != "" {
		return "Only plain values work here",
			fmt.Sprintf("%s Write the value itself instead of %s.", s.constant, traversalText(traversal))
	}
	if root == "each" && s.Names["each"] == nil {
		return "each works only in a block with for_each",
			"It is the key and value of one fleet of a block with for_each = …."
	}
	if !slices.Contains(allRoots, root) {
		detail := fmt.Sprintf(
			"References begin with var, local, capacity_class, image, provider, scheduler or fleet. If %s is meant as text, "+
				"put it in quotes: %q.", root, diagnostic.Clip(traversalText(traversal)))
		if name, ok := NameAt(traversal, 1); ok && s.unrooted(root, name) != "" {
			detail = fmt.Sprintf("Did you mean %s?", s.unrooted(root, name))
		} else if near := suggestion.Nearest(root, allRoots); near != "" {
			detail = fmt.Sprintf("Did you mean %q? %s", near, detail)
		}
		return fmt.Sprintf("Unknown name %q", diagnostic.Clip(root)), detail
	}
	steps := 1
	form, two := referenceForms[root]
	if two {
		steps = 2
	}
	name, ok := NameAt(traversal, steps)
	if !ok {
		if !two {
			form = root + ".NAME"
		}
		return fmt.Sprintf("The reference %s is not complete", diagnostic.Clip(traversalText(traversal))),
			fmt.Sprintf("Write: %s.", form)
	}
	if !slices.Contains(s.Names[root], name) {
		return fmt.Sprintf("Unknown %s", describe(root, name)), s.DeclareHint(root, name)
	}
	if len(traversal) > steps+1 && slices.Contains(BlockRoots, root) {
		return fmt.Sprintf("%s.%s is a whole block", root, name),
			fmt.Sprintf("Blocks expose no attributes. Put the value into a locals block and refer to it from both places, or "+
				"write %s.%s.", root, name)
	}
	return "", ""
}

// DeclareHint suggests the near name or how to declare the one that is missing.
func (s *Scope) DeclareHint(root, name string) string {
	if full := s.unrooted(root, name); full != "" {
		return fmt.Sprintf("Did you mean %s?", full)
	}
	hint := suggestion.For(name, "names", s.Names[root])
	switch root {
	case "var":
		hint += fmt.Sprintf(" Declare it with: variable %q { }", diagnostic.Clip(name))
	case "local":
		hint += fmt.Sprintf(" Declare it with: locals { %s = … }", diagnostic.Clip(name))
	case "each":
	case "provider", "scheduler":
		kind, instance, _ := strings.Cut(name, ".")
		hint += fmt.Sprintf(" Declare it with: %s %q %q { … }", root, diagnostic.Clip(kind), diagnostic.Clip(instance))
	default:
		hint += fmt.Sprintf(" Declare it with: %s %q { … }", root, diagnostic.Clip(name))
	}
	return strings.TrimSpace(hint)
}

// unrooted is the reference to a declared block for which the first word is
// missing or another: local.here and here mean provider.local.here. Empty: none.
func (s *Scope) unrooted(root, name string) string {
	for _, kind := range BlockRoots {
		written := root + "." + name
		if slices.Contains(s.Names[kind], written) {
			return kind + "." + written
		}
	}
	return ""
}

func describe(root, name string) string {
	switch root {
	case "var":
		return fmt.Sprintf("variable %q", diagnostic.Clip(name))
	case "local":
		return fmt.Sprintf("local value %q", diagnostic.Clip(name))
	case "each":
		return "each." + diagnostic.Clip(name)
	default:
		return fmt.Sprintf("%s %q", root, diagnostic.Clip(name))
	}
}

// NameAt joins the steps after the root: one, or two for providers.
func NameAt(traversal hcl.Traversal, steps int) (string, bool) {
	if len(traversal) < steps+1 {
		return "", false
	}
	parts := make([]string, 0, steps)
	for _, step := range traversal[1 : steps+1] {
		part, ok := StepName(step)
		if !ok {
			return "", false
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "."), true
}

func StepName(step hcl.Traverser) (string, bool) {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String && step.Key.IsKnown() && !step.Key.IsNull() {
			return step.Key.AsString(), true
		}
	}
	return "", false
}

// traversalText is a reference as it is written.
func traversalText(traversal hcl.Traversal) string {
	text := traversal.RootName()
	for _, step := range traversal[1:] {
		name, ok := StepName(step)
		if !ok {
			return text + "[…]"
		}
		text += "." + name
	}
	return text
}
