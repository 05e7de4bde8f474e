package config

import (
	"fmt"
	"math/big"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
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
		b.Fail(expr.Range(), b.where, fmt.Sprintf("%q is not a finite number", label), "Expected "+want+".")
		return nil, false
	}
	return number, true
}

func (b *body) wrongType(label, want string, got cty.Value, expr hclsyntax.Expression) {
	b.Fail(expr.Range(), b.where, fmt.Sprintf("%q has the wrong type", label),
		fmt.Sprintf("Expected %s, got %s.", want, expression.KindOf(got)))
}

// text is a string that isn't declared by a struct.
func (b *body) text(name string) (string, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return "", false
	}
	return b.asText(name, value, attribute.Expr)
}
