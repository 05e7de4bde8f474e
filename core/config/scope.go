package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// scope is what an expression may refer to.
type scope struct {
	// constant says why nothing can be referred to; empty: references work.
	constant string
	// names are the declared names by root: "var", "local", "fleet", …; those of
	// "provider" are "PLUGIN.NAME".
	names   map[string][]string
	context *hcl.EvalContext
	// defaults are the plugins' defaults by their text, each parsed once for all
	// the blocks that leave the attribute out.
	defaults map[string]cty.Value
}

// constants is the scope of what is read before anything is declared.
func constants(why string) *scope {
	return &scope{constant: why, context: &hcl.EvalContext{Functions: functions}, defaults: map[string]cty.Value{}}
}

// blockReference is the value of a reference to a whole block. Blocks expose no
// attributes.
type blockReference struct{ kind, name string }

func (r *blockReference) String() string { return r.kind + "." + r.name }

var referenceType = cty.Capsule("block", reflect.TypeFor[blockReference]())

// The roots that refer to blocks.
var blockRoots = []string{"capacity_class", "fleet", "image", "provider"}

// evaluate gives an expression's value. False: it was wrong and is reported, or
// something it depends on was.
func (s *scope) evaluate(report *collector, expr hclsyntax.Expression, where string) (cty.Value, bool) {
	if value, ok := literal(expr); ok {
		return value, true
	}
	if !s.referable(report, expr, where) {
		return cty.DynamicVal, false
	}
	value, problems := expr.Value(s.context)
	report.addParser(problems, where)
	if problems.HasErrors() {
		return cty.DynamicVal, false
	}
	if !value.IsWhollyKnown() {
		// Something that it depends on is wrong and has been reported; if not,
		// an attribute would go missing in silence.
		if !report.list.HasErrors() {
			report.fail(expr.Range(), where, "This value can't be known", "That is a fault of forgeyard-fleet. Write the value itself until it is mended.")
		}
		return cty.DynamicVal, false
	}
	unmarked, _ := value.UnmarkDeep()
	return unmarked, true
}

// literal is the value of what is written out, which most of a file is. It
// needs no scope, and finding that out costs more than the value.
func literal(expr hclsyntax.Expression) (cty.Value, bool) {
	switch expr := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return expr.Val, true
	case *hclsyntax.TemplateExpr:
		if expr.IsStringLiteral() {
			return expr.Parts[0].(*hclsyntax.LiteralValueExpr).Val, true
		}
	}
	return cty.NilVal, false
}

// referable checks every reference in our own words, since the expression
// evaluator only knows of objects without attributes.
func (s *scope) referable(report *collector, expr hclsyntax.Expression, where string) bool {
	fine := true
	for _, traversal := range expr.Variables() {
		if summary, detail := s.refuse(traversal); summary != "" {
			report.fail(traversal.SourceRange(), where, summary, detail)
			fine = false
		}
	}
	return callable(report, expr, where) && fine
}

// callable checks the names of functions. The evaluator would as well, but of
// two near names it suggests now one and now the other.
func callable(report *collector, expr hclsyntax.Expression, where string) bool {
	fine := true
	problems := hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		call, ok := node.(*hclsyntax.FunctionCallExpr)
		if !ok {
			return nil
		}
		if _, known := functions[call.Name]; !known {
			report.fail(call.NameRange, where, fmt.Sprintf("There is no function called %q", clip(call.Name)),
				didYouMean(call.Name, slices.Collect(maps.Keys(functions))))
			fine = false
		}
		return nil
	})
	return fine && !problems.HasErrors()
}

func (s *scope) refuse(traversal hcl.Traversal) (summary, detail string) {
	root := traversal.RootName()
	if s.constant != "" {
		return "Only plain values work here", fmt.Sprintf("%s Write the value itself instead of %s.", s.constant, traversalText(traversal))
	}
	roots := []string{"var", "local"}
	roots = append(roots, blockRoots...)
	if !slices.Contains(roots, root) {
		detail := fmt.Sprintf("References begin with var, local, capacity_class, image, provider or fleet. If %s is meant as text, put it in quotes: %q.", root, clip(traversalText(traversal)))
		if near := nearest(root, roots); near != "" {
			detail = fmt.Sprintf("Did you mean %q? %s", near, detail)
		}
		return fmt.Sprintf("There is nothing called %q", clip(root)), detail
	}
	steps := 1
	if root == "provider" {
		steps = 2
	}
	name, ok := nameAt(traversal, steps)
	if !ok {
		form := root + ".NAME"
		if root == "provider" {
			form = "provider.PLUGIN.NAME"
		}
		return fmt.Sprintf("The reference %s is not complete", clip(traversalText(traversal))), fmt.Sprintf("Write: %s.", form)
	}
	if !slices.Contains(s.names[root], name) {
		return fmt.Sprintf("There is no %s", describe(root, name)), s.declareHint(root, name)
	}
	if len(traversal) > steps+1 && slices.Contains(blockRoots, root) {
		return fmt.Sprintf("%s.%s is a whole block", root, name), fmt.Sprintf("Blocks expose no attributes. Put the value into a locals block and refer to it from both places, or write %s.%s.", root, name)
	}
	return "", ""
}

// declareHint suggests the near name or how to declare the one that is missing.
func (s *scope) declareHint(root, name string) string {
	hint := didYouMean(name, s.names[root])
	switch root {
	case "var":
		hint += fmt.Sprintf(" Declare it with: variable %q { }", clip(name))
	case "local":
		hint += fmt.Sprintf(" Declare it with: locals { %s = … }", clip(name))
	case "provider":
		plugin, instance, _ := strings.Cut(name, ".")
		hint += fmt.Sprintf(" Declare it with: provider %q %q { … }", clip(plugin), clip(instance))
	default:
		hint += fmt.Sprintf(" Declare it with: %s %q { … }", root, clip(name))
	}
	return strings.TrimSpace(hint)
}

func describe(root, name string) string {
	switch root {
	case "var":
		return fmt.Sprintf("variable %q", clip(name))
	case "local":
		return fmt.Sprintf("local value %q", clip(name))
	default:
		return fmt.Sprintf("%s %q", root, clip(name))
	}
}

// nameAt joins the steps after the root: one, or two for providers.
func nameAt(traversal hcl.Traversal, steps int) (string, bool) {
	if len(traversal) < steps+1 {
		return "", false
	}
	parts := make([]string, 0, steps)
	for _, step := range traversal[1 : steps+1] {
		part, ok := stepName(step)
		if !ok {
			return "", false
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "."), true
}

func stepName(step hcl.Traverser) (string, bool) {
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
		name, ok := stepName(step)
		if !ok {
			return text + "[…]"
		}
		text += "." + name
	}
	return text
}

// reference is an attribute whose value is a whole block of the given kind; the
// result is the block's name ("PLUGIN.NAME" for providers).
func (b *body) reference(name, kind string) (string, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return "", false
	}
	if value.Type() == referenceType {
		target := value.EncapsulatedValue().(*blockReference)
		if target.kind == kind {
			return target.name, true
		}
		b.fail(attribute.Expr.Range(), b.where, fmt.Sprintf("%q refers to the wrong kind of block", name),
			fmt.Sprintf("%s is no %s. %s", target, kind, b.referenceForm(kind)))
		return "", false
	}
	b.fail(attribute.Expr.Range(), b.where, fmt.Sprintf("%q must refer to a block", name),
		fmt.Sprintf("This is %s. %s", kindOf(value), b.referenceForm(kind)))
	return "", false
}

func (b *body) referenceForm(kind string) string {
	names := b.scope.names[kind]
	if len(names) == 0 {
		return fmt.Sprintf("Wanted: a reference to a %s block, without quotes.", kind)
	}
	return fmt.Sprintf("Wanted: a reference without quotes, such as %s.%s.", kind, slices.Min(names))
}
