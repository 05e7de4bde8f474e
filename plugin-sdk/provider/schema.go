package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// blockType is a block as its struct's tags declare it: the one source of the
// schema on the wire, of the decoding and of the validation.
type blockType struct {
	attributes []attribute
	blocks     []nestedBlock
}

// attribute is one field that is an attribute of a block or an object.
type attribute struct {
	tag
	field int // index in the struct
	typ   valueType
	// defaultJSON is nil where the attribute has no default.
	defaultJSON []byte
}

// nestedBlock is one field of type *T (at most one block) or []T (any number).
type nestedBlock struct {
	tag
	field    int
	repeated bool
	block    *blockType
}

// valueType is the type of a value. element belongs to lists and maps,
// attributes to objects.
type valueType struct {
	kind       providerpb.Type_Kind
	element    *valueType
	attributes []attribute
}

var durationType = reflect.TypeFor[time.Duration]()

// compileBlock reads the tags of T and tells every fault among them at once.
func compileBlock[T any]() (*blockType, error) {
	goType := reflect.TypeFor[T]()
	if goType.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct", goType)
	}
	return compileStruct(goType, nil)
}

// compileStruct compiles a block body. outer are the structs that it is nested
// in: a struct within itself has no finite schema.
func compileStruct(goType reflect.Type, outer []reflect.Type) (*blockType, error) {
	if slices.Contains(outer, goType) {
		return nil, fmt.Errorf("%s contains itself", goType)
	}
	outer = append(slices.Clone(outer), goType)
	block := &blockType{}
	names := map[string]string{}
	var problems []error
	for i := range goType.NumField() {
		field := goType.Field(i)
		if !field.IsExported() || field.Tag.Get("fleet") == "-" {
			continue
		}
		if err := block.add(i, field, names, outer); err != nil {
			problems = append(problems, fmt.Errorf("field %s of %s: %w", field.Name, goType, err))
		}
	}
	return block, errors.Join(problems...)
}

func (b *blockType) add(index int, field reflect.StructField, names map[string]string, outer []reflect.Type) error {
	parsed, err := parseTag(field)
	if err != nil {
		return err
	}
	if other, taken := names[parsed.name]; taken {
		return fmt.Errorf("the name %q is taken by field %s", parsed.name, other)
	}
	names[parsed.name] = field.Name
	if parsed.block {
		return b.addBlock(index, field, parsed, outer)
	}
	typ, err := compileValue(field.Type, outer)
	if err != nil {
		return err
	}
	compiled := attribute{tag: parsed, field: index, typ: typ}
	if parsed.hasDefault {
		if compiled.defaultJSON, err = defaultValue(typ, parsed.defaultText); err != nil {
			return err
		}
		trial := reflect.New(field.Type).Elem()
		if complaints := decodeJSON(compiled.defaultJSON, typ, trial); len(complaints) > 0 {
			return fmt.Errorf("default %q: %w", parsed.defaultText, complaints[0])
		}
	}
	b.attributes = append(b.attributes, compiled)
	return nil
}

func (b *blockType) addBlock(index int, field reflect.StructField, parsed tag, outer []reflect.Type) error {
	kind := field.Type.Kind()
	if kind != reflect.Pointer && kind != reflect.Slice || field.Type.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("a block must be *T or []T of a struct, not %s", field.Type)
	}
	nested, err := compileStruct(field.Type.Elem(), outer)
	if err != nil {
		return err
	}
	b.blocks = append(b.blocks, nestedBlock{tag: parsed, field: index, repeated: kind == reflect.Slice, block: nested})
	return nil
}

func compileValue(goType reflect.Type, outer []reflect.Type) (valueType, error) {
	if goType == durationType {
		return valueType{kind: providerpb.Type_KIND_DURATION}, nil
	}
	switch goType.Kind() {
	case reflect.String:
		return valueType{kind: providerpb.Type_KIND_STRING}, nil
	case reflect.Bool:
		return valueType{kind: providerpb.Type_KIND_BOOL}, nil
	case reflect.Int, reflect.Int64:
		return valueType{kind: providerpb.Type_KIND_INT}, nil
	case reflect.Float64:
		return valueType{kind: providerpb.Type_KIND_NUMBER}, nil
	case reflect.Slice:
		element, err := compileValue(goType.Elem(), outer)
		return valueType{kind: providerpb.Type_KIND_LIST, element: &element}, err
	case reflect.Map:
		if goType.Key().Kind() != reflect.String {
			return valueType{}, fmt.Errorf("a map needs string keys, not %s", goType.Key())
		}
		element, err := compileValue(goType.Elem(), outer)
		return valueType{kind: providerpb.Type_KIND_MAP, element: &element}, err
	case reflect.Struct:
		object, err := compileStruct(goType, outer)
		if err != nil {
			return valueType{}, err
		}
		if len(object.blocks) > 0 {
			return valueType{}, fmt.Errorf("object %s can't have blocks within; make it a block itself", goType)
		}
		return valueType{kind: providerpb.Type_KIND_OBJECT, attributes: object.attributes}, nil
	}
	return valueType{}, fmt.Errorf("type %s can't be an attribute; use string, bool, int, int64, float64, time.Duration, or slices, maps and structs of these", goType)
}

// defaultValue turns a default tag into JSON: text as it stands for strings and
// durations, JSON for everything else.
func defaultValue(typ valueType, text string) ([]byte, error) {
	if typ.kind == providerpb.Type_KIND_STRING || typ.kind == providerpb.Type_KIND_DURATION {
		return json.Marshal(text)
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("default %q is not valid JSON", text)
	}
	return []byte(text), nil
}

func (b *blockType) toWire() *providerpb.Schema {
	schema := &providerpb.Schema{Version: 1, Attributes: attributesToWire(b.attributes)}
	for _, nested := range b.blocks {
		schema.Blocks = append(schema.Blocks, &providerpb.Block{
			Name: nested.name, Schema: nested.block.toWire(), Repeated: nested.repeated, Doc: nested.doc,
		})
	}
	return schema
}

func attributesToWire(attributes []attribute) []*providerpb.Attribute {
	var wire []*providerpb.Attribute
	for _, one := range attributes {
		wire = append(wire, &providerpb.Attribute{
			Name: one.name, Type: one.typ.toWire(), Doc: one.doc,
			Required: one.required, Sensitive: one.sensitive, Immutable: one.immutable,
			DefaultJson: string(one.defaultJSON), Deprecated: one.deprecated,
		})
	}
	return wire
}

func (t valueType) toWire() *providerpb.Type {
	wire := &providerpb.Type{Kind: t.kind, Attributes: attributesToWire(t.attributes)}
	if t.element != nil {
		wire.Element = t.element.toWire()
	}
	return wire
}
