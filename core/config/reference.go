package config

import (
	"maps"
	"slices"
)

// ReferenceBlock describes one block of a fleet file for people: docs/fleet-hcl.md
// is made from it. The code that reads a block stays the only judge of what it
// may hold; a test holds the two against each other.
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

// Reference is every block in the order in which a reader needs them, each
// followed by those within it.
func Reference() []ReferenceBlock {
	return slices.Concat(settingsReference, schedulerReference, capacityReference, fleetReference, fleetPolicyReference, installationReference, removalReference)
}

// Functions are the names of the functions of the language, sorted.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }
