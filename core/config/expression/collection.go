package expression

import (
	"iter"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// IsSequence says whether a value is a list in a user's eyes.
func IsSequence(value cty.Value) bool {
	kind := value.Type()
	return !value.IsNull() && (kind.IsTupleType() || kind.IsListType() || kind.IsSetType())
}

// IsMapping says whether a value is a map in a user's eyes.
func IsMapping(value cty.Value) bool {
	kind := value.Type()
	return !value.IsNull() && (kind.IsObjectType() || kind.IsMapType())
}

func Sequence(value cty.Value) iter.Seq2[int, cty.Value] {
	return func(yield func(int, cty.Value) bool) {
		i := 0
		for it := value.ElementIterator(); it.Next(); i++ {
			_, element := it.Element()
			if !yield(i, element) {
				return
			}
		}
	}
}

// Mapping yields in the order of the keys.
func Mapping(value cty.Value) iter.Seq2[string, cty.Value] {
	return func(yield func(string, cty.Value) bool) {
		for it := value.ElementIterator(); it.Next(); {
			key, element := it.Element()
			if !yield(key.AsString(), element) {
				return
			}
		}
	}
}

// Element is the part of expr that makes element i, or expr itself
// where the syntax doesn't show it (a variable, a function call).
func Element(expr hclsyntax.Expression, i int) hclsyntax.Expression {
	if tuple, ok := unwrapped(expr).(*hclsyntax.TupleConsExpr); ok && i >= 0 && i < len(tuple.Exprs) {
		return tuple.Exprs[i]
	}
	return expr
}

// KeyValue is the part of expr that makes the value of a key, or expr
// itself.
func KeyValue(expr hclsyntax.Expression, key string) hclsyntax.Expression {
	if item, ok := Item(expr, key); ok {
		return item.ValueExpr
	}
	return expr
}

// Item is the item of an object expression whose key is written out.
func Item(expr hclsyntax.Expression, key string) (hclsyntax.ObjectConsItem, bool) {
	object, ok := unwrapped(expr).(*hclsyntax.ObjectConsExpr)
	if !ok {
		return hclsyntax.ObjectConsItem{}, false
	}
	for _, item := range object.Items {
		if name, ok := literalKey(item.KeyExpr); ok && name == key {
			return item, true
		}
	}
	return hclsyntax.ObjectConsItem{}, false
}

// literalKey is the key of an object item without variables.
func literalKey(expr hclsyntax.Expression) (string, bool) {
	if len(expr.Variables()) > 0 {
		return "", false
	}
	value, problems := expr.Value(nil)
	if problems.HasErrors() || !value.IsKnown() || value.IsNull() || value.Type() != cty.String {
		return "", false
	}
	return value.AsString(), true
}

func unwrapped(expr hclsyntax.Expression) hclsyntax.Expression {
	for {
		parentheses, ok := expr.(*hclsyntax.ParenthesesExpr)
		if !ok {
			return expr
		}
		expr = parentheses.Expression
	}
}
