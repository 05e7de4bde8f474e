package config

import (
	"fmt"
	"math/big"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

func (b *body) asText(label string, value cty.Value, expr hclsyntax.Expression) (string, bool) {
	converted, err := convert.Convert(value, cty.String)
	if err != nil || converted.IsNull() {
		b.wrongType(label, "text, such as \"abc\"", value, expr)
		return "", false
	}
	return converted.AsString(), true
}

// asNumber refuses text and infinities alike.
func (b *body) asNumber(label, want string, value cty.Value, expr hclsyntax.Expression) (*big.Float, bool) {
	converted, err := convert.Convert(value, cty.Number)
	if err != nil || converted.IsNull() {
		b.wrongType(label, want, value, expr)
		return nil, false
	}
	number := converted.AsBigFloat()
	if double, _ := number.Float64(); number.IsInf() || double > 1e300 || double < -1e300 {
		b.fail(expr.Range(), b.where, fmt.Sprintf("%q is not a finite number", label), "Expected "+want+".")
		return nil, false
	}
	return number, true
}

func numberText(number *big.Float) string { return number.Text('g', 12) }

func (b *body) wrongType(label, want string, got cty.Value, expr hclsyntax.Expression) {
	b.fail(expr.Range(), b.where, fmt.Sprintf("%q has the wrong type", label),
		fmt.Sprintf("Expected %s, got %s.", want, kindOf(got)))
}

// kindOf is a value's kind in a user's words.
func kindOf(value cty.Value) string {
	if value.IsNull() {
		return "null"
	}
	switch kind := value.Type(); {
	case kind == cty.String:
		return fmt.Sprintf("the string %q", clip(value.AsString()))
	case kind == cty.Number:
		return "the number " + numberText(value.AsBigFloat())
	case kind == cty.Bool:
		return fmt.Sprintf("the boolean %t", value.True())
	case kind == referenceType:
		return "the block " + value.EncapsulatedValue().(*blockReference).String()
	case kind == secretType:
		return "a reference to a secret"
	case isSequence(value):
		return "a list"
	case isMapping(value):
		return "a map"
	default:
		return kind.FriendlyName()
	}
}

// text is a string that isn't declared by a struct.
func (b *body) text(name string) (string, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return "", false
	}
	return b.asText(name, value, attribute.Expr)
}
