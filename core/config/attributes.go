package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/config/quantity"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	words "github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// attributes are a block's values by path, as one would write them.
type attributes map[string]string

func (a attributes) changesTo(b attributes) []AttributeChange {
	var changes []AttributeChange
	for path, value := range b {
		if a[path] != value {
			changes = append(changes, AttributeChange{Path: path, Old: a[path], New: value})
		}
	}
	for path, value := range a {
		if _, kept := b[path]; !kept {
			changes = append(changes, AttributeChange{Path: path, Old: value})
		}
	}
	slices.SortFunc(changes, func(x, y AttributeChange) int { return cmp.Compare(x.Path, y.Path) })
	return changes
}

// block adds the values of a block by its declaration. What the block leaves open
// isn't among them: no value, and a boolean that is what leaving it out means.
func (a attributes) block(path string, block any) {
	value := reflect.ValueOf(block).Elem()
	a.declared(path, declared(value.Type()), value)
}

func (a attributes) declared(path string, d *declaration, value reflect.Value) {
	for _, one := range d.attributes {
		if one.typ.kind != kindExpression {
			a.attribute(path, one, value.Field(one.field))
		}
	}
	for _, nested := range d.blocks {
		field := value.Field(nested.field)
		switch {
		case nested.body == PluginBody:
		case nested.repeated:
			for i := range field.Len() {
				block := field.Index(i)
				inner := path + nested.name + "." + block.Field(nested.labels[0].field).String() + "."
				a.declared(inner, nested.declaration, block)
			}
		case !field.IsNil():
			a.declared(path+nested.name+".", nested.declaration, field.Elem())
		}
	}
}

// attribute adds one attribute of the block at path. Names are joined to the path only
// where there is a value: most attributes of most blocks are left out.
func (a attributes) attribute(path string, one *attribute, field reflect.Value) {
	switch {
	case one.typ.kind == fleet.KindBool:
		if text := strconv.FormatBool(field.Bool()); text != one.standard && (one.standard != "" || field.Bool()) {
			a[path+one.name] = text
		}
	case one.typ.kind == fleet.KindMap:
		if field.Len() == 0 {
			return
		}
		for entry := field.MapRange(); entry.Next(); {
			a[path+one.name+"."+entry.Key().String()] = quoted(entry.Value().Interface())
		}
	case !field.IsZero() || one.alwaysShown():
		a[path+one.name] = one.typ.asWritten(field)
	}
}

// alwaysShown says that zero is a value like any other.
func (a *attribute) alwaysShown() bool {
	return (a.typ.kind == fleet.KindInt || a.typ.kind == fleet.KindDuration) && (a.required || a.standard != "")
}

// asWritten is a value as one would write it. The kinds that most values have come
// first: Interface copies the value.
func (t valueType) asWritten(value reflect.Value) string {
	switch t.kind {
	case fleet.KindDuration:
		return quotedText(words.Duration(time.Duration(value.Int())))
	case kindSize:
		return quotedText(quantity.SizeText(value.Int()))
	case kindCPU:
		return quantity.CPUText(value.Int())
	case fleet.KindInt:
		return strconv.FormatInt(value.Int(), 10)
	case fleet.KindString, kindReference:
		return quotedText(value.String())
	}
	switch typed := value.Interface().(type) {
	case time.Time:
		return quotedText(typed.UTC().Format(time.RFC3339))
	case fleet.Money:
		return quotedText(typed.String())
	case fleet.SecretReference:
		return secretText(typed)
	}
	return quoted(value.Interface())
}

// secretText shows where a secret is; what it is isn't known here.
func secretText(reference fleet.SecretReference) string {
	return "secret(" + quotedText(string(reference)) + ")"
}

// setJSON spreads a plugin's body over its attributes. Lists stay whole, since
// a moved element would otherwise look like many changes, unless they are of
// blocks.
func (a attributes) setJSON(path string, text json.RawMessage) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // an int64 has more digits than a float64
	if decoder.Decode(&value) != nil {
		if len(text) > 0 {
			a[path] = string(text)
		}
		return
	}
	a.setValue(path, value)
}

func (a attributes) setValue(path string, value any) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		if reference, ok := value[fleet.SecretMarker].(string); ok && len(value) == 1 {
			a[path] = secretText(fleet.SecretReference(reference))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			a.setValue(path+"."+key, value[key])
		}
	case string:
		a[path] = quotedText(value)
	default:
		a[path] = quoted(value)
	}
}

// quotedText is quoted for a text. What needs no escape, which is nearly every text,
// needs no encoder.
func quotedText(text string) string {
	for i := range len(text) {
		if b := text[i]; b < ' ' || b > '~' || b == '"' || b == '\\' {
			return quoted(text)
		}
	}
	return `"` + text + `"`
}

// quoted is JSON without the escapes that are meant for web pages.
func quoted(value any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "?"
	}
	return strings.TrimSuffix(out.String(), "\n")
}
