package config

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// ReferenceBlock describes one block of a fleet file for people, made from its
// declaration: docs/fleet-hcl.md is made from it.
type ReferenceBlock struct {
	// Path is the block's type within its parents: "fleet.scaling".
	Path string
	// Labels are the names after the type: `fleet "NAME"`.
	Labels []string
	// Required says that the parent, or the file, needs one.
	Required bool
	// Repeated says that there may be more than one.
	Repeated bool
	// NotYet is a sentence on what is missing where the block is read and stored
	// and has no effect; empty: it works.
	NotYet string
	// Body says who decides what is in it.
	Body ReferenceBody
	// Doc is Markdown.
	Doc        string
	Attributes []ReferenceAttribute
	// Example is HCL; only blocks at the top have one, with all nested blocks in
	// it. All examples together are one file that loads.
	Example string
}

// ReferenceBody is the kind of a block's content.
type ReferenceBody string

// The kinds of content. EntryBody: the names are the user's own, and each value
// is an object with the listed attributes. FreeBody: the names and values are
// the user's own. PluginBody: the plugin's schema decides.
const (
	FixedBody  ReferenceBody = ""
	EntryBody  ReferenceBody = "entries"
	FreeBody   ReferenceBody = "free"
	PluginBody ReferenceBody = "plugin"
)

// ReferenceAttribute describes one attribute.
type ReferenceAttribute struct {
	Name     string
	Type     ReferenceType
	Required bool
	// Default is the value, as HCL, that leaving it out means; empty: there is
	// none, and Doc says what happens.
	Default string
	// Doc is one Markdown paragraph with the unit and the bounds.
	Doc string
	// NotYet is as for blocks.
	NotYet string
	// Offers says that NotYet holds only where the provider's plugin lists no offers.
	Offers bool
}

// ReferenceType is the kind of an attribute's value in a reader's words.
type ReferenceType string

// The types.
const (
	TextValue          ReferenceType = "text"
	BoolValue          ReferenceType = "boolean"
	CountValue         ReferenceType = "whole number"
	CPUValue           ReferenceType = "number"
	SizeValue          ReferenceType = "size"
	DurationValue      ReferenceType = "duration"
	TextListValue      ReferenceType = "list of text"
	TextMapValue       ReferenceType = "map of text"
	CountMapValue      ReferenceType = "map of whole numbers"
	MoneyValue         ReferenceType = "money"
	MomentValue        ReferenceType = "point in time"
	SecretValue        ReferenceType = "`secret(…)`"
	EachValue          ReferenceType = "map, or set of text"
	TypeValue          ReferenceType = "type"
	AnyValue           ReferenceType = "any value"
	ConditionValue     ReferenceType = "boolean expression"
	ClassReference     ReferenceType = "reference to a `capacity_class`"
	ImageReference     ReferenceType = "reference to an `image`"
	PluginReference    ReferenceType = "reference to a `provider`"
	SchedulerReference ReferenceType = "reference to a `scheduler`"
	FleetReference     ReferenceType = "reference to a `fleet`"
)

func (l *language) appendReference(list []ReferenceBlock, around string, block *nestedBlock) []ReferenceBlock {
	one := ReferenceBlock{
		Path:     around + block.name,
		Labels:   block.labelNames(),
		Required: block.required,
		Body:     block.body,
		Doc:      markdown(block.doc),
		Repeated: block.repeated,
	}
	if block.body == EntryBody { // the names are those of its attributes
		one.Labels, one.Repeated = nil, false
	}
	for _, attribute := range block.attributes {
		notYet := l.sentences[attribute.notYet]
		one.Attributes = append(one.Attributes, ReferenceAttribute{
			Name: attribute.name, Type: attribute.typ.inWords(), Required: attribute.required, Default: attribute.standard,
			Doc: markdown(attribute.doc), NotYet: notYet.text, Offers: notYet.offers,
		})
	}
	list = append(list, one)
	for _, nested := range block.blocks {
		list = l.appendReference(list, one.Path+".", nested)
	}
	return list
}

// quotedCode is code in a doc, which stands in a struct tag and so can't hold back
// quotes. An apostrophe within a word isn't a quote.
var quotedCode = regexp.MustCompile(`(^|[\s(\[])'([^']+)'`)

func markdown(doc string) string { return quotedCode.ReplaceAllString(doc, "$1`$2`") }

// inWords is the type in a reader's words.
func (t valueType) inWords() ReferenceType {
	switch t.kind {
	case kindReference:
		return ReferenceType(fmt.Sprintf("reference to %s `%s`", article(t.refers), t.refers))
	case kindExpression:
		return t.words
	case fleet.KindList:
		return TextListValue
	case fleet.KindMap:
		if t.element.kind == fleet.KindInt {
			return CountMapValue
		}
		return TextMapValue
	}
	return wordsOfKind[t.kind]
}

var wordsOfKind = map[fleet.PluginTypeKind]ReferenceType{
	fleet.KindString: TextValue, fleet.KindBool: BoolValue, fleet.KindInt: CountValue, fleet.KindDuration: DurationValue,
	kindCPU: CPUValue, kindSize: SizeValue, kindMoney: MoneyValue, kindMoment: MomentValue, kindSecret: SecretValue,
	kindFleetAddress: FleetReference,
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeiou") {
		return "an"
	}
	return "a"
}
