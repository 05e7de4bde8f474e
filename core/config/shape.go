package config

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/config/quantity"
	"github.com/forgeyard/forgeyard-fleet/core/config/suggestion"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// shape checks a value against its type and gives it as a Go value: string, bool,
// int64, float64, time.Duration, fleet.Money, time.Time, fleet.SecretReference,
// []any or map[string]any.
func (b *body) shape(want *valueType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	switch {
	case value.IsNull():
		b.wrongType(label, wantedText(want), value, expr)
		return nil, false
	case value.Type() == expression.SecretType:
		if want.public {
			b.wrongType(label, wantedText(want), value, expr)
			return nil, false
		}
		if want.kind != fleet.KindString && want.kind != kindSecret {
			b.Fail(
				expr.Range(),
				b.where,
				fmt.Sprintf("%q can't be a secret", label),
				fmt.Sprintf("A secret is text; wanted: %s.", wantedText(want)),
			)
			return nil, false
		}
		return *value.EncapsulatedValue().(*fleet.SecretReference), true
	}
	switch want.kind {
	case fleet.KindString:
		return b.shapeText(want, value, expr, label)
	case fleet.KindBool:
		converted, err := convert.Convert(value, cty.Bool)
		if err != nil || converted.IsNull() {
			b.wrongType(label, wantedText(want), value, expr)
			return nil, false
		}
		return converted.True(), true
	case fleet.KindInt:
		return b.shapeInt(want, value, expr, label)
	case fleet.KindNumber:
		number, ok := b.asNumber(label, wantedText(want), value, expr)
		if !ok {
			return nil, false
		}
		return jsonNumber(number), true
	case fleet.KindList:
		return b.shapeList(want, value, expr, label)
	case fleet.KindMap:
		return b.shapeMap(want, value, expr, label)
	case fleet.KindObject:
		return b.shapeObject(want, value, expr, label)
	case fleet.KindDuration, kindSize, kindCPU, kindMoney, kindMoment:
		return b.shapeQuantity(want, value, expr, label)
	default:
		b.Fail(expr.Range(), b.where, fmt.Sprintf("%q has a type that this version doesn't know", label),
			"The plugin is newer than forgeyard-fleet. Update forgeyard-fleet, or ask for an older plugin in required_plugins.")
		return nil, false
	}
}

// shapeText is a text that is one of a few, or of a form.
func (b *body) shapeText(want *valueType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	text, ok := b.asText(label, value, expr)
	if !ok {
		return nil, false
	}
	if meant, other := want.aliases[text]; other {
		b.Fail(
			expr.Range(),
			b.where,
			fmt.Sprintf("Invalid value %q for %s", text, label),
			fmt.Sprintf("Did you mean %q?", meant),
		)
		return nil, false
	}
	if len(want.oneOf) > 0 && !slices.Contains(want.oneOf, text) {
		b.Fail(
			expr.Range(),
			b.where,
			fmt.Sprintf("Invalid value %q for %s", diagnostic.Clip(text), label),
			suggestion.For(text, "values", want.oneOf),
		)
		return nil, false
	}
	if want.form == nil {
		return text, true
	}
	noun, advice := want.form(text)
	if advice == "" {
		return text, true
	}
	summary := fmt.Sprintf("Invalid %s %q for %s", noun, diagnostic.Clip(text), label)
	if text == "" {
		summary = fmt.Sprintf("Empty %s for %s", noun, label)
	}
	b.Fail(expr.Range(), b.where, summary, advice)
	return nil, false
}

// shapeInt is a whole number within its bounds.
func (b *body) shapeInt(want *valueType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	number, ok := b.asNumber(label, wantedText(want), value, expr)
	if !ok {
		return nil, false
	}
	whole, accuracy := number.Int64()
	switch {
	case want.bounded && (accuracy != big.Exact || whole < want.least || whole > want.most):
		b.Fail(expr.Range(), b.where, fmt.Sprintf("Invalid value %s for %s", expression.NumberText(number), label),
			fmt.Sprintf("Use a whole number: %d ≤ %s ≤ %d.", want.least, label, want.most))
	case accuracy != big.Exact:
		b.Fail(
			expr.Range(),
			b.where,
			fmt.Sprintf("Invalid value %s for %s", expression.NumberText(number), label),
			"Use a whole number.",
		)
	default:
		return whole, true
	}
	return nil, false
}

// jsonNumber keeps whole numbers whole and writes the others with as many
// digits as a float64 has: that is what readers of JSON keep.
func jsonNumber(number *big.Float) any {
	if whole, accuracy := number.Int64(); accuracy == big.Exact {
		return whole
	}
	double, _ := number.Float64()
	return double
}

func (b *body) shapeList(want *valueType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	if !expression.IsSequence(value) {
		b.wrongType(label, wantedText(want), value, expr)
		return nil, false
	}
	list := []any{}
	fine := true
	for i, element := range expression.Sequence(value) {
		if b.refusePart(element, label, expression.Element(expr, i)) {
			fine = false
			continue
		}
		shaped, ok := b.shape(want.element, element, expression.Element(expr, i), fmt.Sprintf("%s[%d]", label, i))
		fine = fine && ok
		list = append(list, shaped)
	}
	switch {
	case !fine:
	case want.list == "set": // order and repetition mean nothing
		slices.SortFunc(list, func(x, y any) int { return strings.Compare(x.(string), y.(string)) })
		list = slices.Compact(list)
	case want.list == "program" && (len(list) == 0 || list[0] == ""):
		b.Fail(
			expr.Range(),
			b.where,
			fmt.Sprintf("%q names no program", label),
			"Write the program and its arguments, such as [\"/usr/bin/make\", \"test\"].",
		)
		return nil, false
	}
	return list, fine
}

// refusePart says whether an element is a secret, and reports it.
func (b *body) refusePart(element cty.Value, label string, expr hclsyntax.Expression) bool {
	if element.Type() != expression.SecretType {
		return false
	}
	b.Fail(
		expr.Range(),
		b.where,
		fmt.Sprintf("A part of %q can't be a secret", label),
		"A reference to a secret is the whole value of an attribute.",
	)
	return true
}

func (b *body) shapeMap(want *valueType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	if !expression.IsMapping(value) {
		b.wrongType(label, wantedText(want), value, expr)
		return nil, false
	}
	result := map[string]any{}
	fine := true
	for key, element := range expression.Mapping(value) {
		if key == fleet.SecretMarker {
			b.Fail(
				expr.Range(),
				b.where,
				fmt.Sprintf("%q can't have the key %q", label, key),
				"That key marks references to secrets in what is stored.",
			)
			fine = false
			continue
		}
		if b.refusePart(element, label, expression.KeyValue(expr, key)) {
			fine = false
			continue
		}
		fine = b.validKey(want, key, expr, label) && fine
		shaped, ok := b.shape(want.element, element, expression.KeyValue(expr, key),
			fmt.Sprintf("%s[%q]", label, diagnostic.Clip(key)))
		fine = fine && ok
		result[key] = shaped
	}
	return result, fine
}

// validKey says whether a key of a map has the form that the type asks for.
func (b *body) validKey(want *valueType, key string, expr hclsyntax.Expression, label string) bool {
	if want.keys == nil {
		return true
	}
	noun, advice := want.keys(key)
	if advice == "" {
		return true
	}
	at := expr.Range()
	if item, found := expression.Item(expr, key); found {
		at = item.KeyExpr.Range()
	}
	b.Fail(at, b.where, fmt.Sprintf("Invalid %s %q in %s", noun, diagnostic.Clip(key), label), advice)
	return false
}

func (b *body) shapeObject(want *valueType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	if !expression.IsMapping(value) {
		b.wrongType(label, wantedText(want), value, expr)
		return nil, false
	}
	given := value.AsValueMap()
	result := map[string]any{}
	fine := true
	var known []string
	for _, key := range want.attributes {
		known = append(known, key.name)
		shaped, set, ok := b.shapeKey(key, given[key.name], expr, label)
		fine = fine && ok
		if set && ok {
			result[key.name] = shaped
		}
	}
	for key := range expression.Mapping(value) {
		if slices.Contains(known, key) {
			continue
		}
		at := expr.Range()
		if item, found := expression.Item(expr, key); found {
			at = item.KeyExpr.Range()
		}
		b.Fail(
			at,
			b.where,
			fmt.Sprintf("Unexpected key %q", diagnostic.Clip(key)),
			fmt.Sprintf("%s has no such key. %s", label, suggestion.For(key, "keys", known)),
		)
		fine = false
	}
	return result, fine
}

// shapeKey is the value of one key of an object; the zero cty.Value: it has none.
func (b *body) shapeKey(
	key *attribute,
	element cty.Value,
	object hclsyntax.Expression,
	label string,
) (value any, set, ok bool) {
	name := label + "." + key.name
	given := element != cty.NilVal && !element.IsNull()
	switch {
	case given && key.sensitive && element.Type() != expression.SecretType:
		at := b.header
		if item, found := expression.Item(object, key.name); found {
			at = item.KeyExpr.Range()
		}
		b.FailHidden(
			at,
			" = (hidden)",
			b.where,
			fmt.Sprintf("%q is a secret", name),
			fmt.Sprintf(
				"A secret is never written into a fleet file, nor given by a variable. In a provider block, write: %s = %s.",
				key.name,
				expression.SecretForms,
			),
		)
		return nil, true, false
	case given:
		value, ok = b.shape(&key.typ, element, expression.KeyValue(object, key.name), name)
		return value, true, ok
	case key.standard != "":
		value, ok = b.standardValue(key)
		return value, ok, ok
	case key.required:
		b.Fail(object.Range(), b.where, fmt.Sprintf("%q is missing", name), fmt.Sprintf("For example: %s", key.example()))
		return nil, false, false
	}
	return nil, false, true
}

// wantedText is a type in a user's words.
func wantedText(want *valueType) string {
	switch want.kind {
	case fleet.KindString:
		return "text, such as \"abc\""
	case fleet.KindBool:
		return "true or false"
	case fleet.KindInt:
		return "a whole number"
	case fleet.KindNumber:
		return "a number"
	case fleet.KindDuration:
		return "a duration, such as \"10m\"; valid units: " + quantity.DurationUnits
	case kindSize:
		return "a size, such as \"16GiB\"; valid units: " + quantity.SizeUnits
	case kindCPU:
		return "a number of processors, such as 4 or 0.5"
	case kindMoney:
		return "money, such as \"0.192 USD\""
	case kindMoment:
		return "a time with its zone, such as \"2027-01-10T08:00:00Z\""
	case fleet.KindList:
		return "a list, such as " + exampleOf(want)
	case fleet.KindMap:
		return "a map, such as " + exampleOf(want)
	case fleet.KindObject:
		return "an object, such as " + exampleOf(want)
	default:
		return "a value"
	}
}

// example is a line that sets the attribute.
func (a *attribute) example() string {
	if text := a.sampleValue(0); text != "" {
		return a.name + " = " + text
	}
	return a.name + " = " + exampleOf(&a.typ)
}

// exampleOf is a value of the type as one would write it.
func exampleOf(want *valueType) string {
	switch want.kind {
	case fleet.KindBool:
		return "true"
	case fleet.KindInt, fleet.KindNumber:
		return "1"
	case fleet.KindDuration:
		return "\"10m\""
	case fleet.KindList:
		return "[" + exampleOf(want.element) + "]"
	case fleet.KindMap:
		return "{ name = " + exampleOf(want.element) + " }"
	case fleet.KindObject:
		for _, attribute := range want.attributes {
			return "{ " + attribute.name + " = " + exampleOf(&attribute.typ) + " }"
		}
		return "{}"
	default:
		return "\"…\""
	}
}
