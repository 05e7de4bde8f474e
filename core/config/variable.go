package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
)

// variable is one variable block.
type variable struct {
	*body
	name     string
	kind     cty.Type
	defaults *typeexpr.Defaults
	// sensitive values are shown in no message and may be stored nowhere.
	sensitive bool
}

// readVariables gives the value of "var": each declared variable with what was
// given from outside or its default.
func (l *loader) readVariables(blocks []*body, outside Variables) cty.Value {
	for _, block := range blocks {
		l.scope.Names["var"] = append(l.scope.Names["var"], block.labels[0])
	}
	var variables []*variable
	sensitive := map[string]bool{}
	for _, block := range blocks {
		declared := l.declareVariable(block)
		variables = append(variables, declared)
		if declared.sensitive {
			sensitive[declared.name] = true
		}
	}
	given := l.givenValues(outside, sensitive)
	values := map[string]cty.Value{}
	for i, block := range blocks {
		declared := variables[i]
		value, ok := l.valueOf(declared, given)
		if !ok {
			value = cty.DynamicVal
		}
		if declared.sensitive {
			value = value.Mark(expression.SensitiveMark)
		}
		l.validate(declared, value, ok)
		block.close()
		values[declared.name] = value
	}
	return cty.ObjectVal(values)
}

func (l *loader) declareVariable(block *body) *variable {
	var written variableBlock
	block.scope = l.scope.Constants("A variable is read before anything else is known.")
	block.read(&written)
	declared := &variable{body: block, name: written.Name, kind: cty.DynamicPseudoType, sensitive: written.Sensitive}
	attribute := block.attribute("type")
	if attribute == nil {
		return declared
	}
	kind, defaults, problems := typeexpr.TypeConstraintWithDefaults(attribute.Expr)
	for _, problem := range problems {
		l.Fail(
			attribute.Expr.Range(),
			block.where,
			"Invalid type",
			problem.Detail+" Types are string, number, bool, list(…), map(…), set(…), object({…}).",
		)
	}
	if !problems.HasErrors() {
		declared.kind, declared.defaults = kind, defaults
	}
	return declared
}

// valueOf is what was given, else the default; a variable with neither is an
// error.
func (l *loader) valueOf(declared *variable, outside map[string]outsideValue) (cty.Value, bool) {
	fallback := declared.attribute("default")
	if declared.sensitive {
		return l.sensitiveValueOf(declared, outside, fallback)
	}
	if value, found := outside[declared.name]; found {
		result, at, ok := l.read(value, declared.kind)
		if !ok {
			return cty.NilVal, false
		}
		return l.convert(declared, result, at)
	}
	if fallback == nil {
		l.Fail(
			declared.header,
			declared.where,
			fmt.Sprintf("The variable %q has no value", declared.name),
			fmt.Sprintf(
				"Give it one with --var %s=…, a line in a file for --var-file, or %s%s in the environment; or write a default.",
				declared.name,
				VariablePrefix,
				declared.name,
			),
		)
		return cty.NilVal, false
	}
	plain := l.scope.Constants("A default is read before anything else is known.")
	result, ok := plain.Evaluate(l.Collector, fallback.Expr, declared.where)
	if !ok {
		return cty.NilVal, false
	}
	return l.convert(declared, result, fallback.Expr.Range())
}

// sensitiveValueOf is valueOf for what must not be shown: whatever is wrong with
// the value is told without it, and without the line that it is on.
func (l *loader) sensitiveValueOf(
	declared *variable,
	outside map[string]outsideValue,
	fallback *hclsyntax.Attribute,
) (cty.Value, bool) {
	public := *declared
	public.sensitive = false
	hidden := l.Collector
	l.Collector = diagnostic.NewCollector()
	value, ok := l.valueOf(&public, outside)
	_, isGiven := outside[declared.name]
	l.Collector = hidden
	switch {
	case ok:
	case !isGiven && fallback == nil:
		_, _ = l.valueOf(&public, outside) // says that there is none
	default:
		l.FailHidden(
			declared.header,
			"",
			declared.where,
			fmt.Sprintf("The value of variable %q can't be used", declared.name),
			fmt.Sprintf(
				"It must be of type %s. The variable is sensitive, so no details are shown.",
				typeexpr.TypeString(declared.kind),
			),
		)
	}
	return value, ok
}

func (l *loader) convert(declared *variable, value cty.Value, at hcl.Range) (cty.Value, bool) {
	if declared.defaults != nil && !value.IsNull() {
		value = declared.defaults.Apply(value)
	}
	result, err := convert.Convert(value, declared.kind)
	if err != nil {
		l.Fail(
			at,
			declared.where,
			fmt.Sprintf("The value doesn't fit variable %q", declared.name),
			fmt.Sprintf(
				"It is declared as %s: %s.",
				typeexpr.TypeString(declared.kind),
				convert.MismatchMessage(value.Type(), declared.kind),
			),
		)
		return cty.NilVal, false
	}
	if why := expression.TooLarge(result); why != "" {
		l.Fail(at, declared.where, fmt.Sprintf("The value of variable %q is too large", declared.name), why)
		return cty.NilVal, false
	}
	return result, true
}

// validate runs the validation blocks, whose condition may refer to the
// variable itself and nothing else.
func (l *loader) validate(declared *variable, value cty.Value, known bool) {
	own := l.scope.Within(map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{declared.name: value})})
	own.Names = map[string][]string{"var": {declared.name}}
	for _, block := range declared.inner["validation"] {
		block.scope = own
		message, hasMessage := "", false
		if known {
			message, hasMessage = block.text("error_message")
		}
		condition, attribute, ok := cty.NilVal, block.attribute("condition"), false
		if attribute != nil {
			ok = l.onlyItself(declared, block, attribute) && known
		}
		if ok {
			condition, ok = own.EvaluateMarked(l.Collector, attribute.Expr, block.where)
			ok = ok && !condition.IsNull()
		}
		if !ok {
			continue
		}
		condition, marks := condition.UnmarkDeep()
		if len(marks) > 0 && condition.Type() != cty.Bool {
			l.Fail(attribute.Expr.Range(), block.where, "\"condition\" has the wrong type", "Expected true or false.")
			continue
		}
		holds, err := convert.Convert(condition, cty.Bool)
		if err != nil || holds.IsNull() {
			block.wrongType("condition", "true or false", condition, attribute.Expr)
			continue
		}
		if holds.False() && hasMessage {
			l.Fail(
				attribute.Expr.Range(),
				declared.where,
				fmt.Sprintf("The value of variable %q is not allowed", declared.name),
				message,
			)
		}
	}
}

func (l *loader) onlyItself(declared *variable, block *body, attribute *hclsyntax.Attribute) bool {
	for _, traversal := range attribute.Expr.Variables() {
		name, _ := expression.NameAt(traversal, 1)
		if traversal.RootName() != "var" || name != declared.name {
			l.Fail(traversal.SourceRange(), block.where, "A validation can refer only to its own variable",
				fmt.Sprintf("Refer to var.%s, or write the value itself.", declared.name))
			return false
		}
	}
	return true
}
