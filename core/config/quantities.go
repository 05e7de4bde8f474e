package config

import (
	"fmt"
	"math/big"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/config/quantity"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	words "github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// shapeQuantity is what is written as a text with a unit, and processors, which
// are written as a number.
func (b *body) shapeQuantity(want *valueType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	if want.kind == kindCPU {
		return b.shapeCPU(want, value, expr, label)
	}
	if value.Type() != cty.String {
		b.wrongType(label, wantedText(want), value, expr)
		return nil, false
	}
	text := value.AsString()
	var result any
	var err error
	switch want.kind {
	case fleet.KindDuration:
		return b.shapeDuration(want, text, expr, label)
	case kindSize:
		result, err = quantity.ParseSize(text)
	case kindMoney:
		result, err = fleet.ParseMoney(text)
	case kindMoment:
		result, err = parseMoment(text)
	}
	if err != nil {
		b.Fail(
			expr.Range(),
			b.where,
			fmt.Sprintf("Invalid %s %q for %s", quantityNouns[want.kind], diagnostic.Clip(text), label),
			words.Capital(err.Error())+".",
		)
		return nil, false
	}
	return result, true
}

var quantityNouns = map[fleet.PluginTypeKind]string{kindSize: "size", kindMoney: "amount of money", kindMoment: "time"}

// shapeDuration is a time span that isn't shorter than it may be.
func (b *body) shapeDuration(want *valueType, text string, expr hclsyntax.Expression, label string) (any, bool) {
	span, err := quantity.ParseDuration(text)
	if err != nil {
		b.Fail(
			expr.Range(),
			b.where,
			fmt.Sprintf("Invalid duration %q for %s", diagnostic.Clip(text), label),
			words.Capital(err.Error())+".",
		)
		return nil, false
	}
	if least := time.Duration(want.least); want.bounded && span < least {
		advice := fmt.Sprintf("Use a duration of at least %s.", words.Duration(least))
		if least == time.Nanosecond {
			advice = "Use a duration longer than 0."
		}
		b.Fail(expr.Range(), b.where, fmt.Sprintf("Invalid duration %q for %s", diagnostic.Clip(text), label), advice)
		return nil, false
	}
	return span, true
}

// shapeCPU is a number of processors in thousandths.
func (b *body) shapeCPU(want *valueType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	number, ok := b.asNumber(label, wantedText(want), value, expr)
	if !ok {
		return nil, false
	}
	// Decimal fractions have no exact binary form: 0.1 × 1000 is rounded to the
	// nearest whole, and only what is further off was too precise.
	milli := new(big.Float).Mul(number, big.NewFloat(1000))
	nearest, _ := new(big.Float).Add(milli, big.NewFloat(0.5)).Int64()
	off, _ := new(big.Float).Sub(milli, new(big.Float).SetInt64(nearest)).Float64()
	if nearest < 1 || nearest > 1_000_000_000 || off > 1e-6 || off < -1e-6 {
		b.Fail(expr.Range(), b.where, fmt.Sprintf("Invalid value %s for %s", expression.NumberText(number), label),
			fmt.Sprintf("Use a number of processors with at most three decimal places: 0.001 ≤ %s ≤ 1000000.", label))
		return nil, false
	}
	return nearest, true
}

// parseMoment reads a point in time with its zone.
func parseMoment(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Year() < 1 || at.UTC().Year() > 9999 { // no record holds it
		return time.Time{}, fmt.Errorf(
			"use date, time and zone, such as %q or %q",
			"2027-01-10T08:00:00Z",
			"2027-01-10T09:00:00+01:00",
		)
	}
	return at.UTC(), nil
}
