package config

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// The getters below return false when the attribute isn't set or was wrong; in
// the second case it has been reported.

// text is a string.
func (b *body) text(name string) (string, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return "", false
	}
	return b.asText(name, value, attribute.Expr)
}

func (b *body) asText(label string, value cty.Value, expr hclsyntax.Expression) (string, bool) {
	converted, err := convert.Convert(value, cty.String)
	if err != nil || converted.IsNull() {
		b.wrongType(label, "text, such as \"abc\"", value, expr)
		return "", false
	}
	return converted.AsString(), true
}

// oneOf is a string out of a few.
func (b *body) oneOf(name string, allowed ...string) (string, bool) {
	text, ok := b.text(name)
	if !ok || slices.Contains(allowed, text) {
		return text, ok
	}
	b.fail(b.at(name), b.where, fmt.Sprintf("%q has no such value as %q", name, clip(text)), didYouMean(text, allowed))
	return "", false
}

// boolean is true or false.
func (b *body) boolean(name string) (bool, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return false, false
	}
	converted, err := convert.Convert(value, cty.Bool)
	if err != nil || converted.IsNull() {
		b.wrongType(name, "true or false", value, attribute.Expr)
		return false, false
	}
	return converted.True(), true
}

// count is a whole number from least to most.
func (b *body) count(name string, least, most int64) (int, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return 0, false
	}
	number, ok := b.asNumber(name, "a whole number", value, attribute.Expr)
	if !ok {
		return 0, false
	}
	whole, accuracy := number.Int64()
	if !number.IsInt() || accuracy != big.Exact || whole < least || whole > most {
		b.fail(attribute.Expr.Range(), b.where, fmt.Sprintf("%q can't be %s", name, numberText(number)),
			fmt.Sprintf("It is a whole number from %d to %d.", least, most))
		return 0, false
	}
	return int(whole), true
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
		b.fail(expr.Range(), b.where, fmt.Sprintf("%q is not a finite number", label), "Wanted: "+want+".")
		return nil, false
	}
	return number, true
}

func numberText(number *big.Float) string { return number.Text('g', 12) }

// texts is a list of strings.
func (b *body) texts(name string) ([]string, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return nil, false
	}
	return b.asTexts(name, value, attribute.Expr)
}

func (b *body) asTexts(label string, value cty.Value, expr hclsyntax.Expression) ([]string, bool) {
	if !isSequence(value) {
		b.wrongType(label, "a list, such as [\"a\", \"b\"]", value, expr)
		return nil, false
	}
	list := []string{}
	fine := true
	for i, element := range sequence(value) {
		text, ok := b.asText(fmt.Sprintf("%s[%d]", label, i), element, elementExpression(expr, i))
		fine = fine && ok
		list = append(list, text)
	}
	return list, fine
}

// textMap is a map of strings.
func (b *body) textMap(name string) (map[string]string, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return nil, false
	}
	if !isMapping(value) {
		b.wrongType(name, "a map, such as { name = \"value\" }", value, attribute.Expr)
		return nil, false
	}
	result := map[string]string{}
	fine := true
	for key, element := range mapping(value) {
		text, ok := b.asText(fmt.Sprintf("%s[%q]", name, clip(key)), element, keyExpression(attribute.Expr, key))
		fine = fine && ok
		result[key] = text
	}
	return result, fine
}

// duration is a time span of at least the given one.
func (b *body) duration(name string, least time.Duration) (time.Duration, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return 0, false
	}
	return b.asDuration(name, value, attribute.Expr, least)
}

func (b *body) asDuration(label string, value cty.Value, expr hclsyntax.Expression, least time.Duration) (time.Duration, bool) {
	if value.IsNull() || value.Type() != cty.String {
		b.wrongType(label, "a duration, such as \"10m\"; units that work: "+durationUnitNames, value, expr)
		return 0, false
	}
	span, err := parseDuration(value.AsString())
	if err != nil {
		b.fail(expr.Range(), b.where, fmt.Sprintf("%q is no duration: %q", label, clip(value.AsString())), upperFirst(err.Error())+".")
		return 0, false
	}
	if span < least {
		wanted := "It must be at least " + durationText(least) + "."
		if least <= time.Nanosecond {
			wanted = "It must be more than zero."
		}
		b.fail(expr.Range(), b.where, fmt.Sprintf("%q is too short: %s", label, durationText(span)), wanted)
		return 0, false
	}
	return span, true
}

// size is a number of bytes, more than zero.
func (b *body) size(name string) (int64, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return 0, false
	}
	if value.Type() != cty.String {
		b.wrongType(name, "a size, such as \"16GiB\"; units that work: "+sizeUnitNames, value, attribute.Expr)
		return 0, false
	}
	bytes, err := parseSize(value.AsString())
	if err != nil {
		b.fail(attribute.Expr.Range(), b.where, fmt.Sprintf("%q is no size: %q", name, clip(value.AsString())), upperFirst(err.Error())+".")
		return 0, false
	}
	return bytes, true
}

// money is an amount and its currency, more than zero.
func (b *body) money(name string) (fleet.Money, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return fleet.Money{}, false
	}
	if value.Type() != cty.String {
		b.wrongType(name, "money, such as \"0.192 USD\"", value, attribute.Expr)
		return fleet.Money{}, false
	}
	amount, err := fleet.ParseMoney(value.AsString())
	if err != nil {
		b.fail(attribute.Expr.Range(), b.where, fmt.Sprintf("%q is no money: %q", name, clip(value.AsString())), upperFirst(err.Error())+".")
		return fleet.Money{}, false
	}
	return amount, true
}

// moment is a point in time with its zone.
func (b *body) moment(name string) (time.Time, bool) {
	text, ok := b.text(name)
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Year() < 1 || at.UTC().Year() > 9999 { // no record holds it
		b.fail(b.at(name), b.where, fmt.Sprintf("%q is no point in time: %q", name, clip(text)),
			"Write date, time and zone, such as \"2027-01-10T08:00:00Z\" or \"2027-01-10T09:00:00+01:00\".")
		return time.Time{}, false
	}
	return at.UTC(), true
}

// word is one word in lower case. Of tells what it names.
func (b *body) word(name, of, example string) (string, bool) {
	text, ok := b.text(name)
	if ok && !wordForm.MatchString(text) {
		b.fail(b.at(name), b.where, fmt.Sprintf("%q is no %s", clip(text), of), fmt.Sprintf("It is one word in lower case, such as %q.", example))
		return "", false
	}
	return text, ok
}

// names is a list of texts that aren't empty, sorted, each once.
func (b *body) names(name string) ([]string, bool) {
	list, ok := b.texts(name)
	if !ok || len(list) == 0 {
		return nil, false
	}
	if slices.Contains(list, "") {
		b.fail(b.at(name), b.where, fmt.Sprintf("%q holds an empty text", name), "Write what it should be, or leave it out.")
		return nil, false
	}
	slices.Sort(list)
	return slices.Compact(list), true
}

// cpu is a number of processors in thousandths.
func (b *body) cpu(name string) (int64, bool) {
	value, attribute, ok := b.value(name)
	if !ok {
		return 0, false
	}
	const want = "a number of processors, such as 4 or 0.5"
	number, ok := b.asNumber(name, want, value, attribute.Expr)
	if !ok {
		return 0, false
	}
	// Decimal fractions have no exact binary form: 0.1 × 1000 is rounded to the
	// nearest whole, and only what is further off was too precise.
	milli := new(big.Float).Mul(number, big.NewFloat(1000))
	nearest, _ := new(big.Float).Add(milli, big.NewFloat(0.5)).Int64()
	off, _ := new(big.Float).Sub(milli, new(big.Float).SetInt64(nearest)).Float64()
	if nearest < 1 || nearest > 1_000_000_000 || off > 1e-6 || off < -1e-6 {
		b.fail(attribute.Expr.Range(), b.where, fmt.Sprintf("%q can't be %s", name, numberText(number)),
			"Wanted: "+want+", from 0.001 to 1000000, with at most three decimal places.")
		return 0, false
	}
	return nearest, true
}

func (b *body) wrongType(label, want string, got cty.Value, expr hclsyntax.Expression) {
	b.fail(expr.Range(), b.where, fmt.Sprintf("%q has the wrong type", label),
		fmt.Sprintf("Wanted: %s. This is %s.", want, kindOf(got)))
}

// kindOf is a value's kind in a user's words.
func kindOf(value cty.Value) string {
	if value.IsNull() {
		return "null"
	}
	switch kind := value.Type(); {
	case kind == cty.String:
		return fmt.Sprintf("the text %q", clip(value.AsString()))
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
