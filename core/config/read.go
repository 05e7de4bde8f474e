package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/config/form"
	"github.com/forgeyard/forgeyard-fleet/core/config/source"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// read fills target, a pointer to the struct that declares the block, and reads
// the blocks within it. What is wrong is reported and stays zero. What an attribute
// must fit outside of itself is checked afterwards by ordinary code, for which
// given and inner tell what is written.
func (b *body) read(target any) {
	value := reflect.ValueOf(target).Elem()
	b.readInto(declared(value.Type()), value)
}

func (b *body) readInto(d *declaration, target reflect.Value) {
	b.setLabels(d, target)
	for _, one := range d.attributes {
		if one.typ.kind == kindExpression {
			if one.required {
				b.need(one.name, b.exampleOf(one))
			}
			b.attribute(one.name)
			continue
		}
		if value, ok := b.attributeValue(one); ok {
			assign(target.Field(one.field), value)
		}
	}
	for _, nested := range d.blocks {
		if nested.body == PluginBody || slices.Contains(b.postponed, nested.name) {
			b.blocks = append(b.blocks, nested.name)
			continue
		}
		b.readNested(nested, target.Field(nested.field))
	}
}

func (b *body) setLabels(d *declaration, target reflect.Value) {
	for i, label := range d.labels {
		if i < len(b.labels) {
			target.Field(label.field).SetString(b.labels[i])
		}
	}
}

// readNested reads all blocks of one type into a field of type *T or []T.
func (b *body) readNested(nested *nestedBlock, field reflect.Value) {
	for _, block := range b.find(nested) {
		one := reflect.New(field.Type().Elem())
		if nested.body == EntryBody {
			for entry := range block.entries(nested.declaration, field.Type().Elem()) {
				field.Set(reflect.Append(field, entry))
			}
			block.close()
			continue
		}
		block.readInto(nested.declaration, one.Elem())
		block.close()
		if nested.repeated {
			field.Set(reflect.Append(field, one.Elem()))
		} else {
			field.Set(one)
		}
	}
}

// find are the blocks of one type within this one, each with a name of its own.
// One that is required and isn't there is reported.
func (b *body) find(nested *nestedBlock) []*body {
	var found []*body
	switch {
	case nested.repeated && nested.body != EntryBody:
		found = b.children(nested.name, nested.labelNames()...)
	default:
		if one := b.single(nested.name); one != nil {
			found = []*body{one}
		}
	}
	if len(nested.labels) > 0 && nested.body != EntryBody {
		found = b.eachOnce(nested.name, found)
	}
	if nested.required && len(found) == 0 && !b.holds(nested.name) {
		b.Fail(b.header, b.where, fmt.Sprintf("The %s block is missing", nested.name),
			fmt.Sprintf("It is required in %s, with %s.", b.where, nested.requiredNames()))
	}
	if len(found) > 0 {
		if b.inner == nil {
			b.inner = map[string][]*body{}
		}
		b.inner[nested.name] = found
	}
	return found
}

// exampleOf is a line that would do, with a name that is declared where one must
// be.
func (b *body) exampleOf(one *attribute) string {
	switch one.typ.kind {
	case kindFleetAddress:
		return one.name + " = fleet.NAME"
	case kindReference:
		if names := b.scope.Names[one.typ.refers]; len(names) > 0 {
			return fmt.Sprintf("%s = %s.%s", one.name, one.typ.refers, slices.Min(names))
		}
	}
	return one.example()
}

// holds says whether a block of the type is written, right or wrong.
func (b *body) holds(name string) bool {
	return slices.ContainsFunc(b.syntax.Blocks, func(block *hclsyntax.Block) bool { return block.Type == name })
}

// eachOnce drops blocks whose labels another one has.
func (b *body) eachOnce(name string, blocks []*body) []*body {
	first := map[string]*body{}
	return slices.DeleteFunc(blocks, func(block *body) bool {
		labels := strings.Join(block.labels, ".")
		before := first[labels]
		if before == nil {
			first[labels] = block
			return false
		}
		b.Fail(block.header, b.where, fmt.Sprintf("The %s %q is declared twice", name, labels),
			fmt.Sprintf("The first one is at %s. Remove or rename one of them.", diagnostic.Place(before.header)))
		return true
	})
}

// requiredNames are the attributes and blocks that a block can't do without.
func (d *declaration) requiredNames() string {
	var names []string
	for _, one := range d.attributes {
		if one.required {
			names = append(names, one.name)
		}
	}
	for _, one := range d.blocks {
		if one.required {
			names = append(names, one.name)
		}
	}
	return strings.Join(names, " and ")
}

// attributeValue reads one attribute. False: there is no value, or it was wrong and
// has been reported. An attribute with a default has a value wherever it isn't
// written.
func (b *body) attributeValue(one *attribute) (value any, ok bool) {
	read := b.value
	switch {
	case one.sensitive:
		read = b.valueUnlessSensitive
	case one.typ.kind == kindFleetAddress: // which needn't be declared
		return b.fleetAddress(one)
	}
	written, syntax, set := read(one.name)
	if syntax != nil && one.deprecated != "" {
		b.Warn(syntax.NameRange, b.where, fmt.Sprintf("%q is deprecated", one.name), one.deprecated)
	}
	if set && one.sensitive && written.Type() != expression.SecretType {
		b.mustRefer(one.name, syntax)
		return nil, false
	}
	switch {
	case set && one.typ.kind == kindReference:
		value, ok = b.asReference(one.name, one.typ.refers, written, syntax.Expr)
	case set:
		value, ok = b.shape(&one.typ, written, syntax.Expr, one.name)
	case syntax != nil && !b.isNull(one.name):
		return nil, false // reported
	case one.standard != "":
		return b.standardValue(one)
	case one.required:
		b.need(one.name, b.exampleOf(one))
	}
	if ok {
		b.valid = append(b.valid, one.name)
	}
	return value, ok
}

// fleetAddress reads an attribute that is the address of a fleet.
func (b *body) fleetAddress(one *attribute) (value any, ok bool) {
	syntax := b.attribute(one.name)
	if syntax == nil || b.isNullLiteral(one.name) {
		if one.required {
			b.need(one.name, b.exampleOf(one))
		}
		return nil, false
	}
	value, ok = b.asFleetAddress(one.name, syntax.Expr)
	if ok {
		b.valid = append(b.valid, one.name)
	}
	return value, ok
}

// given says whether an attribute is written and its value is right.
func (b *body) given(name string) bool { return slices.Contains(b.valid, name) }

// standardValue is the default of an attribute.
func (b *body) standardValue(one *attribute) (any, bool) {
	value, err := b.document.parsedDefault(one.standard)
	if err != nil {
		b.Fail(b.header, b.where, fmt.Sprintf("The plugin has a broken default for %q", one.name),
			fmt.Sprintf("That is a fault of the plugin (%v). Write the value yourself until it is fixed.", err))
		return nil, false
	}
	if value.IsNull() {
		return nil, false
	}
	// The expression stands in for the block where no line holds the value.
	stand := &hclsyntax.LiteralValueExpr{Val: value, SrcRange: b.header}
	return b.shape(&one.typ, value, stand, one.name)
}

// entries are the attributes of a block whose names are the user's own, each an
// object with the declared attributes as its keys.
func (b *body) entries(d *declaration, goType reflect.Type) func(yield func(reflect.Value) bool) {
	return func(yield func(reflect.Value) bool) {
		for _, syntax := range source.InTextOrder(b.syntax.Attributes) {
			written, _, ok := b.value(syntax.Name)
			if !fleet.ValidName(syntax.Name) {
				b.Fail(syntax.NameRange, b.where, fmt.Sprintf("Invalid name %q", diagnostic.Clip(syntax.Name)), form.NameAdvice)
				continue
			}
			entry := reflect.New(goType).Elem()
			entry.Field(d.labels[0].field).SetString(syntax.Name)
			if ok {
				object := &valueType{kind: fleet.KindObject, attributes: d.attributes}
				value, _ := b.shape(object, written, syntax.Expr, syntax.Name)
				keys, _ := value.(map[string]any)
				for _, one := range d.attributes {
					if key, set := keys[one.name]; set {
						assign(entry.Field(one.field), key)
					}
				}
			}
			if !yield(entry) {
				return
			}
		}
	}
}

// assign puts a value that shape has made into a field.
func assign(field reflect.Value, value any) {
	switch value := value.(type) {
	case []any:
		if len(value) == 0 { // an empty list is the same as none
			return
		}
		list := reflect.MakeSlice(field.Type(), len(value), len(value))
		for i, element := range value {
			assign(list.Index(i), element)
		}
		field.Set(list)
	case map[string]any:
		if len(value) == 0 {
			return
		}
		made := reflect.MakeMapWithSize(field.Type(), len(value))
		for key, one := range value {
			element := reflect.New(field.Type().Elem()).Elem()
			assign(element, one)
			made.SetMapIndex(reflect.ValueOf(key), element)
		}
		field.Set(made)
	default:
		field.Set(reflect.ValueOf(value).Convert(field.Type()))
	}
}
