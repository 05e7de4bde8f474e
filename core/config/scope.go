package config

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
)

// scope is what an expression may refer to.
type scope struct {
	// constant says why nothing can be referred to; empty: references work.
	constant string
	// secrets says that secret(…) works.
	secrets bool
	// names are the declared names by root: "var", "local", "fleet", …; those of
	// "provider" are "PLUGIN.NAME". "each" is there inside a for_each.
	names   map[string][]string
	context *hcl.EvalContext
	steps   *steps
}

func newScope() *scope {
	steps := &steps{limit: minSteps}
	return &scope{
		names: map[string][]string{}, steps: steps,
		context: &hcl.EvalContext{Functions: steps.functions(), Variables: map[string]cty.Value{}},
	}
}

// allowStepsFor sets how much work all expressions of files of that size may do.
func (s *scope) allowStepsFor(bytes int) { s.steps.limit = minSteps + stepsPerByte*bytes }

// constants is the scope of what is read before anything is declared.
func (s *scope) constants(why string) *scope {
	inner := s.within(nil)
	inner.constant, inner.names = why, nil
	return inner
}

// within is the same scope with other values.
func (s *scope) within(variables map[string]cty.Value) *scope {
	inner := *s
	inner.context = &hcl.EvalContext{Functions: s.context.Functions, Variables: variables}
	return &inner
}

// withSecrets is the scope of the blocks that may refer to secrets.
func (s *scope) withSecrets() *scope {
	inner := *s
	inner.secrets = true
	return &inner
}

// withEach is the scope of one fleet of a block with for_each.
func (s *scope) withEach(key string, value cty.Value) *scope {
	inner := *s
	inner.names = maps.Clone(s.names)
	inner.names["each"] = []string{"key", "value"}
	inner.context = s.context.NewChild()
	inner.context.Variables = map[string]cty.Value{
		"each": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "value": value}),
	}
	return &inner
}

// blockReference is the value of a reference to a whole block. Blocks expose no
// attributes.
type blockReference struct{ kind, name string }

func (r *blockReference) String() string { return r.kind + "." + r.name }

var referenceType = cty.Capsule("block", reflect.TypeFor[blockReference]())

// The roots that refer to blocks.
var blockRoots = []string{"capacity_class", "fleet", "image", "provider", "scheduler"}

// allRoots are what a reference can begin with.
var allRoots = append([]string{"var", "local", "each"}, blockRoots...)

// referenceForms are how one refers to the blocks that have two labels.
var referenceForms = map[string]string{"provider": "provider.PLUGIN.NAME", "scheduler": "scheduler.TYPE.NAME"}

// evaluate gives an expression's value. False: it was wrong and is reported, or
// something it depends on was. A sensitive value is wrong: whatever is read this
// way is stored or shown.
func (s *scope) evaluate(report *diagnostic.Collector, expr hclsyntax.Expression, where string) (cty.Value, bool) {
	if value, ok := literal(expr); ok {
		return value, true
	}
	value, ok := s.evaluateMarked(report, expr, where)
	if !ok {
		return cty.DynamicVal, false
	}
	if !value.ContainsMarked() {
		return value, true
	}
	unmarked, marks := value.UnmarkDeep()
	if _, sensitive := marks[sensitiveMark]; sensitive {
		report.Fail(expr.Range(), where, "A sensitive value can't stand here",
			"It would be stored with the definition and shown in plans. Where a plugin needs a secret, its provider block "+
				"refers to it with secret(\"env:NAME\") or secret(\"file:/path\").")
		return cty.DynamicVal, false
	}
	return unmarked, true
}

// evaluateMarked is evaluate for what isn't stored by itself: a local value and
// the condition of a validation keep the mark of what they are made from.
func (s *scope) evaluateMarked(report *diagnostic.Collector, expr hclsyntax.Expression, where string) (cty.Value, bool) {
	if value, ok := literal(expr); ok {
		return value, true
	}
	if !s.checkReferences(report, expr, where) {
		return cty.DynamicVal, false
	}
	value, problems := expr.Value(s.context)
	switch {
	case s.steps.exhausted():
		if !report.Once("steps") {
			return cty.DynamicVal, false
		}
		report.Fail(expr.Range(), where, "The expressions of the fleet files do too much work",
			"Values grow with each other here, as two nested for over long lists do. Write the values out, or make the "+
				"lists shorter.")
		return cty.DynamicVal, false
	case problems.HasErrors() && s.sensitive(expr):
		report.Fail(expr.Range(), where, "This expression can't be evaluated",
			"It is made from a sensitive variable, so no details are shown.")
		return cty.DynamicVal, false
	}
	if problems.HasErrors() && s.secrets && callsSecret(expr) {
		report.Fail(expr.Range(), where, "A secret is the whole value of an attribute",
			fmt.Sprintf("It can't be part of a text or go through a function. Write only %s.", secretForms))
		return cty.DynamicVal, false
	}
	report.AddParser(problems, where)
	if problems.HasErrors() {
		return cty.DynamicVal, false
	}
	if !value.IsWhollyKnown() {
		// Something that it depends on is wrong and has been reported; if not,
		// an attribute would go missing in silence.
		if !report.HasErrors() {
			report.Fail(expr.Range(), where, "This value can't be known",
				"That is a fault of forgeyard-fleet. Write the value itself until it is fixed.")
		}
		return cty.DynamicVal, false
	}
	return value, true
}

// sensitiveMark is on the values of sensitive variables and on all that is made
// from them.
const sensitiveMark = "sensitive"

// sensitive says whether an expression refers to a sensitive value.
func (s *scope) sensitive(expr hclsyntax.Expression) bool {
	for _, traversal := range expr.Variables() {
		name, ok := nameAt(traversal, 1)
		if !ok {
			continue
		}
		for context := s.context; context != nil; context = context.Parent() {
			root, found := context.Variables[traversal.RootName()]
			if found && root.Type().IsObjectType() && root.Type().HasAttribute(name) && root.GetAttr(name).ContainsMarked() {
				return true
			}
		}
	}
	return false
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
