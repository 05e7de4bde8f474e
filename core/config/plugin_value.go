package config

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// pluginAttribute reads one attribute. Fixed is its immutable part; nil: none.
// False: there is no value.
func (b *body) pluginAttribute(plugin string, attribute fleet.PluginAttribute) (value, fixed any, ok bool) {
	read := b.value
	if attribute.Sensitive {
		read = b.valueUnlessSensitive
	}
	written, syntax, set := read(attribute.Name)
	if syntax != nil && attribute.Deprecated != "" {
		b.warn(syntax.NameRange, b.where, fmt.Sprintf("%q is deprecated", attribute.Name), attribute.Deprecated)
	}
	if set && attribute.Sensitive && written.Type() != secretType {
		b.mustRefer(attribute.Name, syntax)
		return nil, nil, false
	}
	switch {
	case set:
		value, ok = b.shape(attribute.Type, written, syntax.Expr, attribute.Name)
	case syntax != nil && !b.isNull(attribute.Name):
		return nil, nil, false // reported
	case attribute.Default != "":
		value, ok = b.schemaDefault(plugin, attribute)
	case attribute.Required:
		b.need(attribute.Name, attribute.Name+" = "+example(attribute.Type))
	}
	if !ok {
		return nil, nil, false
	}
	return value, immutablePart(attribute, value), true
}

// schemaDefault is the default of the plugin's schema.
func (b *body) schemaDefault(plugin string, attribute fleet.PluginAttribute) (any, bool) {
	value, err := b.scope.parsedDefault(attribute.Default)
	if err != nil {
		b.fail(b.header, b.where, fmt.Sprintf("The plugin %q has a broken default for %q", plugin, attribute.Name),
			fmt.Sprintf("That is a fault of the plugin (%v). Write the value yourself until it is mended.", err))
		return nil, false
	}
	if value.IsNull() {
		return nil, false
	}
	// The expression stands in for the block where no line holds the value.
	stand := &hclsyntax.LiteralValueExpr{Val: value, SrcRange: b.header}
	return b.shape(attribute.Type, value, stand, attribute.Name)
}

func (s *scope) parsedDefault(text string) (cty.Value, error) {
	if value, done := s.defaults[text]; done {
		return value, nil
	}
	kind, err := ctyjson.ImpliedType([]byte(text))
	if err != nil {
		return cty.NilVal, err
	}
	value, err := ctyjson.Unmarshal([]byte(text), kind)
	if err == nil {
		s.defaults[text] = value
	}
	return value, err
}

// shape checks a value against a plugin's type and gives it the form that goes
// into JSON.
func (b *body) shape(want fleet.PluginType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	if value.IsNull() {
		b.wrongType(label, wantedText(want), value, expr)
		return nil, false
	}
	if value.Type() == secretType {
		if want.Kind != fleet.KindString {
			b.fail(expr.Range(), b.where, fmt.Sprintf("%q can't be a secret", label), fmt.Sprintf("A secret is text, and this is %s.", wantedText(want)))
			return nil, false
		}
		return marked(value), true
	}
	switch want.Kind {
	case fleet.KindString:
		return okOrNil(b.asText(label, value, expr))
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
	case fleet.KindDuration:
		span, ok := b.asDuration(label, value, expr, time.Duration(math.MinInt64))
		return span.String(), ok
	case fleet.KindList:
		return b.shapeList(want, value, expr, label)
	case fleet.KindMap:
		return b.shapeMap(want, value, expr, label)
	case fleet.KindObject:
		return b.shapeObject(want, value, expr, label)
	default:
		b.fail(expr.Range(), b.where, fmt.Sprintf("%q has a type that this version doesn't know", label),
			"The plugin is newer than forgeyard-fleet. Update forgeyard-fleet, or ask for an older plugin in required_plugins.")
		return nil, false
	}
}

func okOrNil(text string, ok bool) (any, bool) { return text, ok }

func (b *body) shapeInt(want fleet.PluginType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	number, ok := b.asNumber(label, wantedText(want), value, expr)
	if !ok {
		return nil, false
	}
	whole, accuracy := number.Int64()
	if accuracy != big.Exact {
		b.fail(expr.Range(), b.where, fmt.Sprintf("%q can't be %s", label, numberText(number)), "It is a whole number.")
		return nil, false
	}
	return whole, true
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

func (b *body) shapeList(want fleet.PluginType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	if !isSequence(value) {
		b.wrongType(label, wantedText(want), value, expr)
		return nil, false
	}
	list := []any{}
	fine := true
	for i, element := range sequence(value) {
		if b.refusePart(element, label, elementExpression(expr, i)) {
			fine = false
			continue
		}
		shaped, ok := b.shape(elementType(want), element, elementExpression(expr, i), fmt.Sprintf("%s[%d]", label, i))
		fine = fine && ok
		list = append(list, shaped)
	}
	return list, fine
}

// refusePart says whether an element is a secret, and reports it.
func (b *body) refusePart(element cty.Value, label string, expr hclsyntax.Expression) bool {
	if element.Type() != secretType {
		return false
	}
	b.fail(expr.Range(), b.where, fmt.Sprintf("A part of %q can't be a secret", label), "A reference to a secret is the whole value of an attribute.")
	return true
}

func (b *body) shapeMap(want fleet.PluginType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	if !isMapping(value) {
		b.wrongType(label, wantedText(want), value, expr)
		return nil, false
	}
	result := map[string]any{}
	fine := true
	for key, element := range mapping(value) {
		if key == fleet.SecretMarker {
			b.fail(expr.Range(), b.where, fmt.Sprintf("%q can't have the key %q", label, key), "That key marks references to secrets in what is stored.")
			fine = false
			continue
		}
		if b.refusePart(element, label, keyExpression(expr, key)) {
			fine = false
			continue
		}
		shaped, ok := b.shape(elementType(want), element, keyExpression(expr, key), fmt.Sprintf("%s[%q]", label, clip(key)))
		fine = fine && ok
		result[key] = shaped
	}
	return result, fine
}

func (b *body) shapeObject(want fleet.PluginType, value cty.Value, expr hclsyntax.Expression, label string) (any, bool) {
	if !isMapping(value) {
		b.wrongType(label, wantedText(want), value, expr)
		return nil, false
	}
	given := value.AsValueMap()
	result := map[string]any{}
	fine := true
	var known []string
	for _, attribute := range want.Attributes {
		known = append(known, attribute.Name)
		element, set := given[attribute.Name]
		name := label + "." + attribute.Name
		var shaped any
		ok := false
		switch {
		case set && !element.IsNull() && attribute.Sensitive && element.Type() != secretType:
			at := b.header
			if item, found := objectItem(expr, attribute.Name); found {
				at = item.KeyExpr.Range()
			}
			b.failHidden(at, " = (hidden)", b.where, fmt.Sprintf("%q is a secret", name),
				fmt.Sprintf("A secret is never written into a fleet file, nor given by a variable. In a provider block, write: %s = %s.", attribute.Name, secretForms))
			fine = false
		case set && !element.IsNull():
			shaped, ok = b.shape(attribute.Type, element, keyExpression(expr, attribute.Name), name)
			fine = fine && ok
		case attribute.Default != "":
			shaped, ok = b.schemaDefault("", attribute)
			fine = fine && ok
		case attribute.Required:
			b.fail(expr.Range(), b.where, fmt.Sprintf("%q is missing", name), fmt.Sprintf("For example: %s = %s", attribute.Name, example(attribute.Type)))
			fine = false
		}
		if ok {
			result[attribute.Name] = shaped
		}
	}
	for key := range mapping(value) {
		if slices.Contains(known, key) {
			continue
		}
		at := expr.Range()
		if item, found := objectItem(expr, key); found {
			at = item.KeyExpr.Range()
		}
		b.fail(at, b.where, fmt.Sprintf("Unexpected %q", clip(key)), fmt.Sprintf("%q is not expected in %s. %s", clip(key), label, didYouMean(key, known)))
		fine = false
	}
	return result, fine
}

// immutablePart is the value where its attribute is immutable, else what is
// immutable inside an object; nil: nothing is.
func immutablePart(attribute fleet.PluginAttribute, value any) any {
	if attribute.Immutable {
		return value
	}
	object, ok := value.(map[string]any)
	if attribute.Type.Kind != fleet.KindObject || !ok {
		return nil
	}
	part := map[string]any{}
	for _, inner := range attribute.Type.Attributes {
		if element, set := object[inner.Name]; set {
			if fixed := immutablePart(inner, element); fixed != nil {
				part[inner.Name] = fixed
			}
		}
	}
	if len(part) == 0 {
		return nil
	}
	return part
}

func elementType(want fleet.PluginType) fleet.PluginType {
	if want.Element == nil {
		return fleet.PluginType{}
	}
	return *want.Element
}

// wantedText is a plugin's type in a user's words.
func wantedText(want fleet.PluginType) string {
	switch want.Kind {
	case fleet.KindString:
		return "text, such as \"abc\""
	case fleet.KindBool:
		return "true or false"
	case fleet.KindInt:
		return "a whole number"
	case fleet.KindNumber:
		return "a number"
	case fleet.KindDuration:
		return "a duration, such as \"10m\""
	case fleet.KindList:
		return "a list, such as " + example(want)
	case fleet.KindMap:
		return "a map, such as " + example(want)
	case fleet.KindObject:
		return "an object, such as " + example(want)
	default:
		return "a value"
	}
}

// example is a value of the type as one would write it.
func example(want fleet.PluginType) string {
	switch want.Kind {
	case fleet.KindBool:
		return "true"
	case fleet.KindInt, fleet.KindNumber:
		return "1"
	case fleet.KindDuration:
		return "\"10m\""
	case fleet.KindList:
		return "[" + example(elementType(want)) + "]"
	case fleet.KindMap:
		return "{ name = " + example(elementType(want)) + " }"
	case fleet.KindObject:
		for _, attribute := range want.Attributes {
			return "{ " + attribute.Name + " = " + example(attribute.Type) + " }"
		}
		return "{}"
	default:
		return "\"…\""
	}
}
