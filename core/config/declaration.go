package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/config/form"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/blocktag"
)

// declaration is what a block may hold. It is made from the tags of a struct for
// the core's own blocks (blocks_*.go) and from a plugin's schema for the plugin's.
// Everything that knows blocks works on it: the reader (read.go), the reference
// page (reference.go), the sample file (sample.go), and the diff (diff.go).
//
// Besides those of package blocktag a field may have these tags:
//
//	min, max   bounds of a number, or the least duration
//	unit       "cpu" or "size" of an int64: thousandths of a processor, bytes
//	form       a name in forms: what a text, or each of a list, must look like
//	keys       the same for the keys of a map
//	oneof      the texts that are valid, with commas
//	aliases    other names for them, as given=meant, with commas
//	list       "set": sorted, each once; "program": a program and its arguments
//	refers     the type of the block that a string refers to
//	value      what an expression is, for the reference
//	body       of a block: "plugin", "entries" or "free" (ReferenceBody)
//	label      the field, which has fleet:"-", is the block's next label
//	notyet     a name in notYetSentences
//	example    the value in the sample; after a "|" in the block's second one
type declaration struct {
	labels     []declaredLabel
	attributes []*attribute
	blocks     []*nestedBlock
}

// declaredLabel is a label of a block: its name in messages and the field that it
// fills.
type declaredLabel struct {
	name     string
	field    int
	examples [2]string
}

// attribute is one attribute of a block or key of an object.
type attribute struct {
	name, doc, deprecated          string
	required, sensitive, immutable bool
	// standard is the default as JSON; empty: there is none.
	standard string
	typ      valueType
	field    int
	notYet   string
	examples [2]string
}

// nestedBlock is a block within another.
type nestedBlock struct {
	name, doc          string
	required, repeated bool
	body               ReferenceBody
	field              int
	*declaration
	// text is what stands in the sample's block besides its attributes.
	text string
}

// valueType is the type of a value and the bounds of what it may be.
type valueType struct {
	kind fleet.PluginTypeKind
	// element belongs to lists and maps, attributes to objects.
	element    *valueType
	attributes []*attribute

	// bounded says that least and most hold: of a number, or of a duration in
	// nanoseconds.
	bounded     bool
	least, most int64
	form        form.Text
	oneOf       []string
	aliases     map[string]string
	keys        form.Text // of a map
	list        string
	refers      string
	words       ReferenceType
	// public says that a reference to a secret can't stand here. A plugin may take
	// one for any text.
	public bool
}

// The kinds of value that only the core's own blocks have.
const (
	kindSize         fleet.PluginTypeKind = "size"
	kindCPU          fleet.PluginTypeKind = "cpu"
	kindMoney        fleet.PluginTypeKind = "money"
	kindMoment       fleet.PluginTypeKind = "moment"
	kindSecret       fleet.PluginTypeKind = "secret"
	kindReference    fleet.PluginTypeKind = "reference"
	kindFleetAddress fleet.PluginTypeKind = "fleet address"
	kindExpression   fleet.PluginTypeKind = "expression"
)

// Expression is the type of a field whose value the block's own code evaluates.
type Expression struct{}

var declarations sync.Map // of *declaration by reflect.Type

// declared is the declaration that the tags of a struct make. A wrong tag is a
// fault of this package and panics.
func declared(goType reflect.Type) *declaration {
	if found, ok := declarations.Load(goType); ok {
		return found.(*declaration)
	}
	made, err := compile(goType)
	if err != nil {
		panic(err)
	}
	found, _ := declarations.LoadOrStore(goType, made)
	return found.(*declaration)
}

func compile(goType reflect.Type) (*declaration, error) {
	d := &declaration{}
	fields, err := blocktag.Fields(goType)
	problems := []error{err}
	for i := range goType.NumField() {
		if name, ok := goType.Field(i).Tag.Lookup("label"); ok {
			d.labels = append(d.labels, declaredLabel{name, i, examplesOf(goType.Field(i), true)})
		}
	}
	for _, field := range fields {
		if field.Block {
			nested := field.Struct.Type.Elem()
			d.blocks = append(d.blocks, &nestedBlock{
				name:     field.Name,
				doc:      field.Doc,
				required: field.Required,
				repeated: field.Repeated,
				field:    field.Index,
				body: ReferenceBody(
					field.Struct.Tag.Get("body"),
				),
				text:        field.Struct.Tag.Get("example"),
				declaration: declared(nested),
			})
			continue
		}
		one, err := compileAttribute(field)
		if err != nil {
			problems = append(problems, blocktag.FieldError(goType, field.Struct, err))
		}
		d.attributes = append(d.attributes, one)
	}
	return d, errors.Join(problems...)
}

func compileAttribute(field blocktag.Field) (*attribute, error) {
	one := &attribute{
		name: field.Name, doc: field.Doc, deprecated: field.Deprecated, field: field.Index,
		required: field.Required, sensitive: field.Sensitive, immutable: field.Immutable,
		notYet: field.Struct.Tag.Get("notyet"), examples: examplesOf(field.Struct, field.Required),
	}
	var err error
	if one.typ, err = compileType(field.Struct.Type, field.Struct.Tag); err != nil {
		return one, err
	}
	one.sensitive = one.sensitive || one.typ.kind == kindSecret
	if field.HasDefault {
		one.standard = field.Default
		if one.typ.isText() {
			text, _ := json.Marshal(field.Default)
			one.standard = string(text)
		}
	}
	return one, nil
}

// examplesOf are the values in the first and in the second sample of a block. One
// that is required stands in both.
func examplesOf(field reflect.StructField, always bool) [2]string {
	first, second, found := strings.Cut(field.Tag.Get("example"), "|")
	if !found && always {
		second = first
	}
	return [2]string{first, second}
}

// isText says that a value is written as a quoted text.
func (t valueType) isText() bool {
	switch t.kind {
	case fleet.KindString, fleet.KindDuration, kindSize, kindMoney, kindMoment:
		return true
	}
	return false
}

var goKinds = map[reflect.Type]fleet.PluginTypeKind{
	reflect.TypeFor[time.Duration]():         fleet.KindDuration,
	reflect.TypeFor[time.Time]():             kindMoment,
	reflect.TypeFor[fleet.Money]():           kindMoney,
	reflect.TypeFor[fleet.SecretReference](): kindSecret,
	reflect.TypeFor[fleet.FleetAddress]():    kindFleetAddress,
	reflect.TypeFor[Expression]():            kindExpression,
}

var unitKinds = map[string]fleet.PluginTypeKind{"": fleet.KindInt, "size": kindSize, "cpu": kindCPU}

func compileType(goType reflect.Type, tag reflect.StructTag) (valueType, error) {
	typ := valueType{words: ReferenceType(tag.Get("value")), list: tag.Get("list"), refers: tag.Get("refers")}
	if kind, ok := goKinds[goType]; ok {
		typ.kind = kind
		return typ, typ.setBounds(tag)
	}
	switch goType.Kind() {
	case reflect.String:
		typ.kind, typ.public = fleet.KindString, true
		if typ.refers != "" {
			typ.kind = kindReference
		}
		return typ, typ.setTexts(tag)
	case reflect.Bool:
		typ.kind = fleet.KindBool
	case reflect.Int, reflect.Int64:
		typ.kind = unitKinds[tag.Get("unit")]
		return typ, typ.setBounds(tag)
	case reflect.Slice, reflect.Map:
		element, err := compileType(goType.Elem(), tag)
		element.list = ""
		if name := tag.Get("keys"); name != "" {
			if typ.keys = form.Named(name); typ.keys == nil {
				return typ, fmt.Errorf("unknown form %q", name)
			}
		}
		typ.element, typ.kind = &element, fleet.KindList
		if goType.Kind() == reflect.Map {
			typ.kind = fleet.KindMap
		}
		return typ, err
	default:
		return typ, fmt.Errorf("type %s can't be an attribute", goType)
	}
	return typ, nil
}

func (t *valueType) setTexts(tag reflect.StructTag) error {
	if name := tag.Get("form"); name != "" {
		if t.form = form.Named(name); t.form == nil {
			return fmt.Errorf("unknown form %q", name)
		}
	}
	if values := tag.Get("oneof"); values != "" {
		t.oneOf = strings.Split(values, ",")
	}
	if pairs := tag.Get("aliases"); pairs != "" {
		t.aliases = map[string]string{}
		for pair := range strings.SplitSeq(pairs, ",") {
			given, meant, _ := strings.Cut(pair, "=")
			t.aliases[given] = meant
		}
	}
	return nil
}

func (t *valueType) setBounds(tag reflect.StructTag) (err error) {
	least, hasLeast := tag.Lookup("min")
	most, hasMost := tag.Lookup("max")
	if t.kind == fleet.KindDuration && hasLeast {
		span, err := time.ParseDuration(least)
		t.bounded, t.least = true, int64(span)
		return err
	}
	if !hasLeast && !hasMost {
		return nil
	}
	t.bounded = true
	if t.least, err = strconv.ParseInt(least, 10, 64); err != nil {
		return err
	}
	t.most, err = strconv.ParseInt(most, 10, 64)
	return err
}

// nested is the declaration of a block within this one.
func (d *declaration) nested(name string) *nestedBlock {
	for _, one := range d.blocks {
		if one.name == name {
			return one
		}
	}
	panic(fmt.Sprintf("no block %q is declared here", name))
}

func (d *declaration) labelNames() []string {
	names := make([]string, len(d.labels))
	for i, label := range d.labels {
		names[i] = label.name
	}
	return names
}
