// Package plugindocs writes what a plugin says of its two blocks as Markdown: for
// the command "plugin docs", and for the pages of this repository's own plugins.
package plugindocs

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Page is the reference of a plugin.
func Page(plugin fleet.PluginSchemas) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# The plugin `%s`, version %s\n\n", plugin.Name, plugin.Version)
	fmt.Fprintf(&page, "## The block `provider \"%s\"`\n\n%s\n", plugin.Name, orNothing(plugin.Provider))
	fmt.Fprintf(&page, "## The block `instance`\n\n%s", orNothing(plugin.Instance))
	return page.String()
}

func orNothing(schema fleet.PluginSchema) string {
	if len(schema.Attributes) == 0 && len(schema.Blocks) == 0 {
		return "It has no attributes.\n"
	}
	return Table(schema)
}

// Table is the attributes of a block, with those of the blocks and objects in it
// by their path.
func Table(schema fleet.PluginSchema) string {
	var table strings.Builder
	table.WriteString("| attribute | type | default | |\n|---|---|---|---|\n")
	rows(&table, "", schema)
	return table.String()
}

func rows(table *strings.Builder, path string, schema fleet.PluginSchema) {
	for _, one := range schema.Attributes {
		fmt.Fprintf(table, "| `%s%s` | %s | %s | %s |\n", path, one.Name, typeText(one.Type), standard(one), cell(about(one)))
		inner := one.Type
		for inner.Element != nil {
			inner = *inner.Element
		}
		rows(table, path+one.Name+".", fleet.PluginSchema{Attributes: inner.Attributes})
	}
	for _, block := range schema.Blocks {
		kind := "block"
		if block.Repeated {
			kind = "blocks, any number"
		}
		fmt.Fprintf(table, "| `%s%s` | %s |  | %s |\n", path, block.Name, kind, cell(block.Doc))
		rows(table, path+block.Name+".", block.Schema)
	}
}

func typeText(t fleet.PluginType) string {
	if t.Element != nil {
		return string(t.Kind) + " of " + typeText(*t.Element)
	}
	return string(t.Kind)
}

// standard is what an attribute has where the file doesn't say.
func standard(one fleet.PluginAttribute) string {
	switch {
	case one.Required:
		return "**required**"
	case one.Default != "":
		return "`" + one.Default + "`"
	}
	return ""
}

func about(one fleet.PluginAttribute) string {
	text := one.Doc
	if one.Sensitive {
		text += " A secret: `secret(\"env:NAME\")` or `secret(\"file:/path\")`."
	}
	if one.Immutable {
		text += " A change replaces instances."
	}
	if one.Deprecated != "" {
		text += " Deprecated: " + one.Deprecated
	}
	return strings.TrimSpace(text)
}

// cell is text that doesn't end its cell.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
