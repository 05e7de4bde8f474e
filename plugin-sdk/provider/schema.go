package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/blocktag"
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
	blocktag.Field
	typ valueType
	// defaultJSON is nil where the attribute has no default.
	defaultJSON []byte
}

// nestedBlock is one field of type *T (at most one block) or []T (any number).
type nestedBlock struct {
	blocktag.Field
	block *blockType
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
	return compileStruct(reflect.TypeFor[T](), nil)
}

// compileStruct compiles a block body. outer are the structs that it is nested
// in: a struct within itself has no finite schema.
func compileStruct(goType reflect.Type, outer []reflect.Type) (*blockType, error) {
	if slices.Contains(outer, goType) {
		return nil, fmt.Errorf("%s contains itself", goType)
	}
	outer = append(slices.Clone(outer), goType)
	block := &blockType{}
	fields, err := blocktag.Fields(goType)
	problems := []error{err}
	for _, field := range fields {
		if err := block.add(field, outer); err != nil {
			problems = append(problems, blocktag.FieldError(goType, field.Struct, err))
		}
	}
	return block, errors.Join(problems...)
}

func (b *blockType) add(field blocktag.Field, outer []reflect.Type) error {
	if field.Block {
		nested, err := compileStruct(field.Struct.Type.Elem(), outer)
		if err != nil {
			return err
		}
		b.blocks = append(b.blocks, nestedBlock{Field: field, block: nested})
		return nil
	}
	typ, err := compileValue(field.Struct.Type, outer)
	if err != nil {
		return err
	}
	compiled := attribute{Field: field, typ: typ}
	if field.HasDefault {
		if compiled.defaultJSON, err = defaultValue(typ, field.Default); err != nil {
			return err
		}
		trial := reflect.New(field.Struct.Type).Elem()
		if complaints := decodeJSON(compiled.defaultJSON, typ, trial); len(complaints) > 0 {
			return fmt.Errorf("default %q: %w", field.Default, complaints[0])
		}
	}
	b.attributes = append(b.attributes, compiled)
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
	return valueType{},
		fmt.Errorf("type %s can't be an attribute; use string, bool, int, int64, float64, time.Duration, or slices, maps "+
			"and structs of these", goType)
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
			Name: nested.Name, Schema: nested.block.toWire(), Repeated: nested.Repeated, Doc: nested.Doc,
		})
	}
	return schema
}

func attributesToWire(attributes []attribute) []*providerpb.Attribute {
	var wire []*providerpb.Attribute
	for _, one := range attributes {
		wire = append(wire, &providerpb.Attribute{
			Name: one.Name, Type: one.typ.toWire(), Doc: one.Doc,
			Required: one.Required, Sensitive: one.Sensitive, Immutable: one.Immutable,
			DefaultJson: string(one.defaultJSON), Deprecated: one.Deprecated,
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
