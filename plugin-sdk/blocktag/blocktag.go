// Package blocktag reads the struct tags that declare a block of a fleet file:
//
//	`fleet:"name,required,immutable,sensitive" doc:"…" default:"…" deprecated:"…"`
//	`fleet:"name,block,required" doc:"…"`
//
// Plugins declare their blocks this way (package provider) and the manager its
// own, so the grammar of the tags stands here once. The package knows no types of
// values and needs only the standard library: each side has value types of its
// own, since a plugin's cross the wire and the manager's don't.
package blocktag

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Field is one tagged field of a struct: an attribute or a nested block.
type Field struct {
	// Index is the field's place in its struct.
	Index int
	// Struct is the field itself, for further tags.
	Struct    reflect.StructField
	Name      string
	Required  bool
	Immutable bool // a change replaces instances
	Sensitive bool // never shown, never logged
	// Block says that the field is a nested block of type *T (at most one) or, where
	// it is Repeated, []T.
	Block, Repeated bool
	Doc             string // one Markdown paragraph
	Deprecated      string // what to use instead
	HasDefault      bool
	Default         string
}

// Fields are the tagged fields of a struct in their order. Unexported fields and
// those with fleet:"-" are left out. The error names every field that is wrong;
// the others are given all the same.
func Fields(goType reflect.Type) ([]Field, error) {
	if goType.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct", goType)
	}
	var fields []Field
	var problems []error
	names := map[string]string{}
	for i := range goType.NumField() {
		structField := goType.Field(i)
		if !structField.IsExported() || structField.Tag.Get("fleet") == "-" {
			continue
		}
		field, err := parse(structField)
		if other, taken := names[field.Name]; err == nil && taken {
			err = fmt.Errorf("the name %q is taken by field %s", field.Name, other)
		}
		if err != nil {
			problems = append(problems, FieldError(goType, structField, err))
			continue
		}
		names[field.Name] = structField.Name
		field.Index = i
		fields = append(fields, field)
	}
	return fields, errors.Join(problems...)
}

// FieldError says which field of which struct an error is about.
func FieldError(goType reflect.Type, field reflect.StructField, err error) error {
	return fmt.Errorf("field %s of %s: %w", field.Name, goType, err)
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func parse(structField reflect.StructField) (Field, error) {
	text, tagged := structField.Tag.Lookup("fleet")
	if !tagged {
		return Field{}, errors.New(`no fleet tag; add fleet:"name", or fleet:"-" to leave the field out`)
	}
	name, options, _ := strings.Cut(text, ",")
	field := Field{Struct: structField, Name: name}
	field.Doc, field.Deprecated = structField.Tag.Get("doc"), structField.Tag.Get("deprecated")
	field.Default, field.HasDefault = structField.Tag.Lookup("default")
	if !namePattern.MatchString(name) {
		return Field{}, fmt.Errorf("name %q must be lower-case letters, digits and underscores", name)
	}
	if err := field.setOptions(options); err != nil {
		return Field{}, err
	}
	return field, field.check()
}

func (f *Field) setOptions(options string) error {
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
			if options != "" {
				return errors.New("an option is empty")
			}
		case "required":
			f.Required = true
		case "immutable":
			f.Immutable = true
		case "sensitive":
			f.Sensitive = true
		case "block":
			f.Block = true
		default:
			return fmt.Errorf("unknown option %q; valid: required, immutable, sensitive, block", option)
		}
	}
	return nil
}

// check refuses options that contradict each other, and a block of another Go type
// than *T or []T of a struct.
func (f *Field) check() error {
	switch {
	case f.Required && f.HasDefault:
		return errors.New("what is required can't have a default")
	case f.Block && f.HasDefault:
		return errors.New("a block can't have a default; give its attributes defaults")
	case f.Block && (f.Immutable || f.Sensitive):
		return errors.New("immutable and sensitive belong to the block's attributes")
	case f.Sensitive && f.HasDefault:
		return errors.New("a secret can't have a default")
	}
	if !f.Block {
		return nil
	}
	goType := f.Struct.Type
	kind := goType.Kind()
	if kind != reflect.Pointer && kind != reflect.Slice || goType.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("a block must be *T or []T of a struct, not %s", goType)
	}
	f.Repeated = kind == reflect.Slice
	return nil
}
