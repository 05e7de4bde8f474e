package fleet

import (
	"fmt"
	"strings"
)

// PluginSchemas is how a plugin describes its two blocks, and who it is.
type PluginSchemas struct {
	Name     string       `json:"name"`
	Version  string       `json:"version"`
	Provider PluginSchema `json:"provider"`
	Instance PluginSchema `json:"instance"`
	// Joined says that a person joins the plugin's hosts.
	Joined bool `json:"joined,omitempty"`
	// Market says that the plugin lists offers.
	Market bool `json:"market,omitempty"`
	// Identity says that the plugin verifies which instance a host is.
	Identity bool `json:"identity,omitempty"`
	// IdentityNeeds is the attribute of the provider block without which it can't;
	// empty: it always can.
	IdentityNeeds string `json:"identity_needs,omitempty"`
	// Attestations are what the plugin can ever vouch for, sorted. AttestableByBlock says
	// that it can tell which of them a block can't have.
	Attestations      []string `json:"attestations,omitempty"`
	AttestableByBlock bool     `json:"attestable_by_block,omitempty"`
	// Batches says that the plugin makes several instances by one call, MaxBatch how
	// many at most; 0: as many as are asked for.
	Batches  bool `json:"batches,omitempty"`
	MaxBatch int  `json:"max_batch,omitempty"`
}

// PluginSchema describes one block body that a plugin owns.
type PluginSchema struct {
	Attributes []PluginAttribute `json:"attributes,omitempty"`
	Blocks     []PluginBlock     `json:"blocks,omitempty"`
}

// PluginAttribute is one attribute of a plugin's block.
type PluginAttribute struct {
	Name string     `json:"name"`
	Type PluginType `json:"type"`
	// Doc is one Markdown paragraph.
	Doc       string `json:"doc,omitempty"`
	Required  bool   `json:"required,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"`
	// Immutable: a change replaces instances.
	Immutable bool `json:"immutable,omitempty"`
	// Default is a JSON value; empty: none.
	Default string `json:"default,omitempty"`
	// Deprecated says what to use instead; empty: not deprecated.
	Deprecated string `json:"deprecated,omitempty"`
}

// PluginBlock is a nested block.
type PluginBlock struct {
	Name     string       `json:"name"`
	Doc      string       `json:"doc,omitempty"`
	Repeated bool         `json:"repeated,omitempty"`
	Schema   PluginSchema `json:"schema"`
}

// PluginTypeKind is a kind of value.
type PluginTypeKind string

// The kinds of the plugin contract. A duration is a string such as "90s".
const (
	KindString   PluginTypeKind = "string"
	KindBool     PluginTypeKind = "bool"
	KindInt      PluginTypeKind = "int"
	KindNumber   PluginTypeKind = "number"
	KindDuration PluginTypeKind = "duration"
	KindList     PluginTypeKind = "list"
	KindMap      PluginTypeKind = "map"
	KindObject   PluginTypeKind = "object"
)

// PluginType is the type of an attribute. Element belongs to lists and maps,
// Attributes to objects.
type PluginType struct {
	Kind       PluginTypeKind    `json:"kind"`
	Element    *PluginType       `json:"element,omitempty"`
	Attributes []PluginAttribute `json:"attributes,omitempty"`
}

// PluginDiagnostic is a plugin's complaint about a block body.
type PluginDiagnostic struct {
	Warning bool   `json:"warning,omitempty"`
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"`
	// Path leads into the body; each step is an attribute or block name, or an
	// index. Empty: the whole body.
	Path []PathStep `json:"path,omitempty"`
}

// PathStep is a name, or an index where Name is empty.
type PathStep struct {
	Name  string `json:"name,omitempty"`
	Index int64  `json:"index,omitempty"`
}

// PathText is a path into a block for people: "host[1].uri".
func PathText(path []PathStep) string {
	var text strings.Builder
	for _, step := range path {
		switch {
		case step.Name == "":
			fmt.Fprintf(&text, "[%d]", step.Index)
		case text.Len() > 0:
			text.WriteString("." + step.Name)
		default:
			text.WriteString(step.Name)
		}
	}
	return text.String()
}
