package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// decodeBlock decodes the JSON of one block body into a struct of the type that
// the block was compiled from. It complains about everything that is wrong, in
// the order of the struct's fields. null is the same as absent.
func decodeBlock[T any](block *blockType, content []byte) (T, []Diagnostic) {
	var target T
	if len(bytes.TrimSpace(content)) == 0 {
		content = []byte("{}")
	}
	value, err := parseJSON(content)
	if err != nil {
		return target, []Diagnostic{{Summary: "The block is not valid JSON", Detail: err.Error()}}
	}
	var d decoder
	d.block(block, value, reflect.ValueOf(&target).Elem(), nil)
	if !hasErrors(d.found) {
		d.found = append(d.found, validate(&target)...)
	}
	return target, d.found
}

// validate asks the struct itself, by value or by pointer.
func validate(target any) []Diagnostic {
	if validator, ok := target.(Validator); ok {
		return validator.Validate()
	}
	return nil
}

// decodeJSON decodes one value.
func decodeJSON(content []byte, typ valueType, target reflect.Value) []Diagnostic {
	value, err := parseJSON(content)
	if err != nil {
		return []Diagnostic{{Summary: "Not valid JSON", Detail: err.Error()}}
	}
	var d decoder
	d.value(typ, value, target, nil, false)
	return d.found
}

// parseJSON keeps numbers as they are written. The error says where, not what:
// the content may be secret.
func parseJSON(content []byte) (any, error) {
	parser := json.NewDecoder(bytes.NewReader(content))
	parser.UseNumber()
	var value any
	if err := parser.Decode(&value); err != nil {
		return nil, fmt.Errorf("syntax error near byte %d", parser.InputOffset())
	}
	if _, err := parser.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("something follows its end at byte %d", parser.InputOffset())
	}
	return value, nil
}

// decoder walks a JSON value along a compiled type and gathers complaints.
type decoder struct {
	found []Diagnostic
}

func (d *decoder) complain(path Path, summary, detail string) {
	d.found = append(d.found, Diagnostic{Summary: summary, Detail: detail, Path: path})
}

func (d *decoder) block(block *blockType, value any, target reflect.Value, path Path) {
	fields, isObject := value.(map[string]any)
	if !isObject {
		d.complain(path, "Wrong type", "A block is wanted.")
		return
	}
	d.attributes(block.attributes, fields, target, path, false)
	known := map[string]bool{}
	for _, nested := range block.blocks {
		known[nested.Name] = true
		d.nested(nested, fields[nested.Name], target.Field(nested.Index), path.Attr(nested.Name))
	}
	d.refuseUnknown(block.attributes, known, fields, path)
}

func (d *decoder) nested(nested nestedBlock, value any, target reflect.Value, path Path) {
	elements, isList := value.([]any)
	if value == nil || isList && len(elements) == 0 {
		if nested.Required {
			d.complain(path, "Missing block", fmt.Sprintf("A block %q is required.", nested.Name))
		}
		return
	}
	if !nested.Repeated {
		target.Set(reflect.New(target.Type().Elem()))
		d.block(nested.block, value, target.Elem(), path)
		return
	}
	if !isList {
		d.complain(path, "Wrong type", "A list of blocks is wanted.")
		return
	}
	target.Set(reflect.MakeSlice(target.Type(), len(elements), len(elements)))
	for i, element := range elements {
		d.block(nested.block, element, target.Index(i), path.Index(i))
	}
}

// attributes decodes the attributes of a block or an object.
func (d *decoder) attributes(attributes []attribute, fields map[string]any, target reflect.Value, path Path,
	secret bool) {
	for _, one := range attributes {
		here := path.Attr(one.Name)
		value := fields[one.Name]
		if value != nil {
			d.value(one.typ, value, target.Field(one.Index), here, secret || one.Sensitive)
			if one.Deprecated != "" {
				d.found = append(d.found, Diagnostic{Warning: true, Path: here,
					Summary: fmt.Sprintf("%q is deprecated", one.Name), Detail: one.Deprecated})
			}
			continue
		}
		if one.Required {
			d.complain(here, "Missing attribute", fmt.Sprintf("The attribute %q is required.", one.Name))
		}
		if one.defaultJSON != nil {
			// It was decoded once when the block was compiled; it can't fail.
			d.found = append(d.found, decodeJSON(one.defaultJSON, one.typ, target.Field(one.Index))...)
		}
	}
}

func (d *decoder) refuseUnknown(attributes []attribute, known map[string]bool, fields map[string]any, path Path) {
	for _, one := range attributes {
		if known == nil {
			known = map[string]bool{}
		}
		known[one.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !known[name] {
			d.complain(path.Attr(name), "Unsupported argument", fmt.Sprintf("%q is not expected here.", name))
		}
	}
}

// value decodes one value. Complaints don't quote what is secret.
func (d *decoder) value(typ valueType, value any, target reflect.Value, path Path, secret bool) {
	wanted := ""
	switch typ.kind {
	case providerpb.Type_KIND_LIST:
		wanted = d.list(typ, value, target, path, secret)
	case providerpb.Type_KIND_MAP:
		wanted = d.mapping(typ, value, target, path, secret)
	case providerpb.Type_KIND_OBJECT:
		fields, ok := value.(map[string]any)
		if !ok {
			wanted = "An object"
			break
		}
		d.attributes(typ.attributes, fields, target, path, secret)
		d.refuseUnknown(typ.attributes, nil, fields, path)
	default:
		wanted = scalar(typ, value, target)
	}
	if wanted == "" {
		return
	}
	detail := wanted + " is wanted."
	if text, err := json.Marshal(value); err == nil && !secret && len(text) <= 80 {
		detail = fmt.Sprintf("%s is wanted, not %s.", wanted, text)
	}
	d.complain(path, "Wrong type", detail)
}

// scalar sets a value without elements, or says what is wanted instead.
func scalar(typ valueType, value any, target reflect.Value) (wanted string) {
	switch typ.kind {
	case providerpb.Type_KIND_STRING:
		if text, ok := value.(string); ok {
			target.SetString(text)
			return ""
		}
		return "A string"
	case providerpb.Type_KIND_BOOL:
		if truth, ok := value.(bool); ok {
			target.SetBool(truth)
			return ""
		}
		return "true or false"
	case providerpb.Type_KIND_INT:
		if number, ok := wholeNumber(value); ok && !target.OverflowInt(number) {
			target.SetInt(number)
			return ""
		}
		return "A whole number"
	case providerpb.Type_KIND_NUMBER:
		if number, ok := value.(json.Number); ok {
			if float, err := number.Float64(); err == nil {
				target.SetFloat(float)
				return ""
			}
		}
		return "A number"
	case providerpb.Type_KIND_DURATION:
		if text, ok := value.(string); ok {
			if duration, err := time.ParseDuration(text); err == nil {
				target.SetInt(int64(duration))
				return ""
			}
		}
		return `A duration such as "90s" or "5m"`
	}
	return ""
}

// list sets a list, or says what is wanted instead.
func (d *decoder) list(typ valueType, value any, target reflect.Value, path Path, secret bool) (wanted string) {
	elements, ok := value.([]any)
	if !ok {
		return "A list"
	}
	target.Set(reflect.MakeSlice(target.Type(), len(elements), len(elements)))
	for i, element := range elements {
		d.element(*typ.element, element, target.Index(i), path.Index(i), secret)
	}
	return ""
}

// mapping sets a map, or says what is wanted instead.
func (d *decoder) mapping(typ valueType, value any, target reflect.Value, path Path, secret bool) (wanted string) {
	fields, ok := value.(map[string]any)
	if !ok {
		return "A map"
	}
	target.Set(reflect.MakeMapWithSize(target.Type(), len(fields)))
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		element := reflect.New(target.Type().Elem()).Elem()
		d.element(*typ.element, fields[key], element, path.Attr(key), secret)
		target.SetMapIndex(reflect.ValueOf(key).Convert(target.Type().Key()), element)
	}
	return ""
}

// element is a value within a list or a map, where null means nothing sensible.
func (d *decoder) element(typ valueType, value any, target reflect.Value, path Path, secret bool) {
	if value == nil {
		d.complain(path, "Missing value", "null can't be an element.")
		return
	}
	d.value(typ, value, target, path, secret)
}

// wholeNumber accepts every spelling of an integer, such as 1e3 or 4.0, and
// bounds the work that a long exponent can ask for.
func wholeNumber(value any) (int64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	if whole, err := number.Int64(); err == nil {
		return whole, true
	}
	const enough = 512 // bits of precision: exact for everything that fits int64
	float, _, err := big.ParseFloat(number.String(), 10, enough, big.ToNearestEven)
	if err != nil || !float.IsInt() {
		return 0, false
	}
	whole, accuracy := float.Int64()
	return whole, accuracy == big.Exact
}
