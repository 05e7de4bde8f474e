package expression

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// The steps that all expressions of a load may take together, in characters and elements
// that are handled: enough for 20,000 fleets of one block with for_each, and more
// for more text. Two nested "for" over a large value would run for days.
const (
	minSteps     = 8_000_000
	stepsPerByte = 4
)

// stepsPerCall is what a call of a function or a turn of a loop costs by itself.
const stepsPerCall = 30

// steps counts the evaluation steps that are spent of those that there may be.
type steps struct{ spent, limit int }

// spend says whether there is enough left. What is refused gives an unknown
// value and no error, after which a "for" would go on with its next element; the
// whole expression is called wrong afterwards.
func (w *steps) spend(n int) bool {
	w.spent = min(w.spent+n, w.limit+1)
	return !w.exhausted()
}

func (w *steps) exhausted() bool { return w.spent > w.limit }

// The functions that count, called by expressions that chargeExpression rewrote. No
// file can name them.
const (
	countElements = "(elements)"
	countWeight   = "(weight)"
)

// functions are those of the language, each paying for its arguments.
func (w *steps) functions() map[string]function.Function {
	counted := make(map[string]function.Function, len(functions)+2)
	for name, one := range functions {
		counted[name] = w.paying(name, one)
	}
	// An empty collection ends a loop at once.
	counted[countElements] = w.passing(
		cty.EmptyTupleVal,
		func(value cty.Value) int { return stepsPerCall + elementCount(value) },
	)
	counted[countWeight] = w.passing(cty.DynamicVal, func(value cty.Value) int { return stepsPerCall + weigh(value) })
	return counted
}

// paying is a function that is only called while there is work left. It keeps
// the parameters, so that complaints about arguments stay as they are.
func (w *steps) paying(name string, one function.Function) function.Function {
	spec := &function.Spec{Params: one.Params(), VarParam: one.VarParam(), Description: one.Description()}
	for i := range spec.Params {
		spec.Params[i].AllowMarked, spec.Params[i].AllowUnknown = true, true
	}
	if spec.VarParam != nil {
		spec.VarParam.AllowMarked, spec.VarParam.AllowUnknown = true, true
	}
	spec.Type = func(args []cty.Value) (cty.Type, error) {
		if w.exhausted() || !w.spend(costOf(name, args)) {
			return cty.DynamicPseudoType, nil
		}
		return one.ReturnTypeForValues(args)
	}
	spec.Impl = func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if w.exhausted() {
			return cty.DynamicVal, nil
		}
		return one.Call(args)
	}
	return function.New(spec)
}

// passing is a function that gives its argument back, or something that is done
// with quickly.
func (w *steps) passing(instead cty.Value, cost func(cty.Value) int) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{
				Name:             "value",
				Type:             cty.DynamicPseudoType,
				AllowNull:        true,
				AllowUnknown:     true,
				AllowDynamicType: true,
				AllowMarked:      true,
			},
		},
		Type: func(args []cty.Value) (cty.Type, error) {
			if w.exhausted() || !w.spend(cost(args[0])) {
				return instead.Type(), nil
			}
			return args[0].Type(), nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if w.exhausted() {
				return instead, nil
			}
			return args[0], nil
		},
	})
}

// costOf is the weight of the arguments, and more for functions that make much
// out of little.
func costOf(name string, args []cty.Value) int {
	cost := stepsPerCall
	for _, arg := range args {
		cost += weigh(arg)
	}
	text := func(i int) string {
		if i < len(args) {
			if value, _ := args[i].Unmark(); value.IsKnown() && !value.IsNull() && value.Type() == cty.String {
				return value.AsString()
			}
		}
		return ""
	}
	switch name {
	case "replace":
		cost += strings.Count(text(0), text(1)) * len(text(2))
	case "join":
		for _, list := range args[min(1, len(args)):] {
			cost += elementCount(list) * len(text(0))
		}
	case "toset", "tolist", "tomap":
		// Elements of different types are each compared with each.
		if len(args) > 0 {
			if _, alike := elementTypeOf(args[0]); !alike {
				cost += elementCount(args[0]) * elementCount(args[0]) / 8
			}
		}
	case "distinct": // compares each element with each
		if len(args) > 0 {
			cost += elementCount(args[0]) * elementCount(args[0]) / 8
		}
	}
	return cost
}

func elementCount(value cty.Value) int {
	value, _ = value.Unmark()
	if value.IsKnown() && (IsSequence(value) || IsMapping(value)) {
		return value.LengthInt()
	}
	return 0
}

// chargeExpression rewrites what repeats and what joins texts, so that it pays for
// itself: the collection and the results of a "for", and the parts of a text.
func chargeExpression(node hclsyntax.Node) {
	switch node := node.(type) {
	case *hclsyntax.ForExpr:
		node.CollExpr = counting(countElements, node.CollExpr)
		node.ValExpr = counting(countWeight, node.ValExpr)
		if node.KeyExpr != nil {
			node.KeyExpr = counting(countWeight, node.KeyExpr)
		}
	case *hclsyntax.TemplateExpr:
		for i, part := range node.Parts {
			if _, ok := part.(*hclsyntax.LiteralValueExpr); !ok {
				node.Parts[i] = counting(countWeight, part)
			}
		}
	}
}

func counting(name string, expr hclsyntax.Expression) hclsyntax.Expression {
	if call, ok := expr.(*hclsyntax.FunctionCallExpr); ok && (call.Name == countElements || call.Name == countWeight) {
		return expr
	}
	at := expr.Range()
	return &hclsyntax.FunctionCallExpr{
		Name:            name,
		Args:            []hclsyntax.Expression{expr},
		NameRange:       at,
		OpenParenRange:  at,
		CloseParenRange: at,
	}
}
