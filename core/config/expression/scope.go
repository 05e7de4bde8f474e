package expression

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
)

// Scope is what an expression may refer to.
type Scope struct {
	// constant says why nothing can be referred to; empty: references work.
	constant string
	// Secrets says that secret(…) works.
	Secrets bool
	// Names are the declared names by root: "var", "local", "fleet", …; those of
	// "provider" are "PLUGIN.NAME". "each" is there inside a for_each.
	Names   map[string][]string
	Context *hcl.EvalContext
	steps   *steps
}

func NewScope() *Scope {
	steps := &steps{limit: minSteps}
	return &Scope{
		Names: map[string][]string{}, steps: steps,
		Context: &hcl.EvalContext{Functions: steps.functions(), Variables: map[string]cty.Value{}},
	}
}

// AllowStepsFor sets how much work all expressions of files of that size may do.
func (s *Scope) AllowStepsFor(bytes int) { s.steps.limit = minSteps + stepsPerByte*bytes }

// Constants is the scope of what is read before anything is declared.
func (s *Scope) Constants(why string) *Scope {
	inner := s.Within(nil)
	inner.constant, inner.Names = why, nil
	return inner
}

// Within is the same scope with other values.
func (s *Scope) Within(variables map[string]cty.Value) *Scope {
	inner := *s
	inner.Context = &hcl.EvalContext{Functions: s.Context.Functions, Variables: variables}
	return &inner
}

// WithSecrets is the scope of the blocks that may refer to secrets.
func (s *Scope) WithSecrets() *Scope {
	inner := *s
	inner.Secrets = true
	return &inner
}

// WithEach is the scope of one fleet of a block with for_each.
func (s *Scope) WithEach(key string, value cty.Value) *Scope {
	inner := *s
	inner.Names = maps.Clone(s.Names)
	inner.Names["each"] = []string{"key", "value"}
	inner.Context = s.Context.NewChild()
	inner.Context.Variables = map[string]cty.Value{
		"each": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "value": value}),
	}
	return &inner
}

// BlockReference is the value of a reference to a whole block. Blocks expose no
// attributes.
type BlockReference struct{ Kind, Name string }

func (r *BlockReference) String() string { return r.Kind + "." + r.Name }

var ReferenceType = cty.Capsule("block", reflect.TypeFor[BlockReference]())

// The roots that refer to blocks.
var BlockRoots = []string{"capacity_class", "fleet", "image", "provider", "scheduler"}

// allRoots are what a reference can begin with.
var allRoots = append([]string{"var", "local", "each"}, BlockRoots...)

// referenceForms are how one refers to the blocks that have two labels.
var referenceForms = map[string]string{"provider": "provider.PLUGIN.NAME", "scheduler": "scheduler.TYPE.NAME"}

// Evaluate gives an expression's value. False: it was wrong and is reported, or
// something it depends on was. A sensitive value is wrong: whatever is read this
// way is stored or shown.
func (s *Scope) Evaluate(report *diagnostic.Collector, expr hclsyntax.Expression, where string) (cty.Value, bool) {
	if value, ok := Literal(expr); ok {
		return value, true
	}
	value, ok := s.EvaluateMarked(report, expr, where)
	if !ok {
		return cty.DynamicVal, false
	}
	if !value.ContainsMarked() {
		return value, true
	}
	unmarked, marks := value.UnmarkDeep()
	if _, sensitive := marks[SensitiveMark]; sensitive {
		report.Fail(expr.Range(), where, "A sensitive value can't stand here",
			"It would be stored with the definition and shown in plans. Where a plugin needs a secret, its provider block "+
				"refers to it with secret(\"env:NAME\") or secret(\"file:/path\").")
		return cty.DynamicVal, false
	}
	return unmarked, true
}

// EvaluateMarked is evaluate for what isn't stored by itself: a local value and
// the condition of a validation keep the mark of what they are made from.
func (s *Scope) EvaluateMarked(report *diagnostic.Collector, expr hclsyntax.Expression, where string) (cty.Value,
	bool) {
	if value, ok := Literal(expr); ok {
		return value, true
	}
	if !s.checkReferences(report, expr, where) {
		return cty.DynamicVal, false
	}
	value, problems := expr.Value(s.Context)
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
	if problems.HasErrors() && s.Secrets && CallsSecret(expr) {
		report.Fail(expr.Range(), where, "A secret is the whole value of an attribute",
			fmt.Sprintf("It can't be part of a text or go through a function. Write only %s.", SecretForms))
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

// SensitiveMark is on the values of sensitive variables and on all that is made
// from them.
const SensitiveMark = "sensitive"

// sensitive says whether an expression refers to a sensitive value.
func (s *Scope) sensitive(expr hclsyntax.Expression) bool {
	for _, traversal := range expr.Variables() {
		name, ok := NameAt(traversal, 1)
		if !ok {
			continue
		}
		for context := s.Context; context != nil; context = context.Parent() {
			root, found := context.Variables[traversal.RootName()]
			if found && root.Type().IsObjectType() && root.Type().HasAttribute(name) && root.GetAttr(name).ContainsMarked() {
				return true
			}
		}
	}
	return false
}

// Literal is the value of what is written out, which most of a file is. It
// needs no scope, and finding that out costs more than the value.
func Literal(expr hclsyntax.Expression) (cty.Value, bool) {
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
