package render

import (
	"path/filepath"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// NameList is the names of plugins in one line.
func NameList(installed []pluginstore.Installed) string {
	var names []string
	for _, p := range installed {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// Installed shows installed plugins, and what to do next.
func (page Page) Installed(installed []pluginstore.Installed, asJSON bool) error {
	if asJSON {
		type row struct {
			Name    string   `json:"name"`
			Version string   `json:"version"`
			Before  string   `json:"before,omitempty"`
			Source  string   `json:"source"`
			Index   string   `json:"index,omitempty"`
			Signer  string   `json:"signer,omitempty"`
			Fetched []string `json:"fetched"`
		}
		rows := []row{}
		for _, p := range installed {
			rows = append(rows, row{p.Name, p.Version, p.Before, p.Source, p.Index, p.Signer, append([]string{}, p.Fetched...)})
		}
		return page.JSON(rows)
	}
	if len(installed) == 0 {
		page.Printf("The fleet files require no plugins.\n")
	}
	for _, p := range installed {
		version := p.Version
		if p.Before != "" && p.Before != p.Version {
			version = p.Before + " → " + p.Version
		}
		state := "in store"
		if len(p.Fetched) > 0 {
			state = "fetched for " + strings.Join(p.Fetched, ", ")
		}
		page.Printf("%s %s   %s   %s\n", p.Name, version, SignedBy(p.LockedPlugin), state)
	}
	if len(installed) > 0 {
		page.Printf(
			"\nLocked in %s. Commit this file, then run:\n  forgeyard-fleet plan%s\n",
			text.ShellQuote(filepath.Join(page.Dir, pluginstore.LockFileName)),
			page.dirArgument(),
		)
	}
	return nil
}

// dirArgument is --dir as an argument of a command to paste; empty: it wasn't given.
func (page Page) dirArgument() string {
	if page.Dir == "" {
		return ""
	}
	return " " + text.ShellQuote(page.Dir)
}

// SignedBy is enough of a key to tell it from another.
func SignedBy(p pluginstore.LockedPlugin) string {
	switch {
	case p.Source == pluginstore.SourceDev:
		return "own build"
	case p.Signer == "":
		return "unsigned"
	}
	return "signed " + p.Signer[:len("ed25519:")+8] + "…"
}

// Schema shows the attributes of a plugin's block.
func (page Page) Schema(schema fleet.PluginSchema, indent string) {
	for _, attribute := range schema.Attributes {
		notes := []string{string(attribute.Type.Kind)}
		if attribute.Required {
			notes = append(notes, "required")
		}
		if attribute.Sensitive {
			notes = append(notes, "a secret")
		}
		if attribute.Default != "" {
			notes = append(notes, "default "+attribute.Default)
		}
		page.Printf("%s%s (%s)  %s\n", indent, attribute.Name, strings.Join(notes, ", "), attribute.Doc)
	}
	for _, block := range schema.Blocks {
		page.Printf("%s%s { … }  %s\n", indent, block.Name, block.Doc)
		page.Schema(block.Schema, indent+"  ")
	}
}

// Published shows a published release.
func (page Page) Published(p pluginstore.Published, asJSON bool) error {
	if asJSON {
		return page.JSON(p)
	}
	page.Printf("%s %s   %s\n", p.Source, p.Version, p.Index)
	if p.Signer == "" {
		page.Printf("  unsigned: users need allow_unsigned = true\n")
	} else {
		page.Printf("  signed by %s\n", p.Signer)
	}
	return nil
}
