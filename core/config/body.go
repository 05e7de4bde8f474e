package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/config/form"
	"github.com/forgeyard/forgeyard-fleet/core/config/suggestion"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// body reads one block body. What is asked for is allowed; close reports the
// rest. So the code that reads a block is the only list of what it may hold,
// for the core's blocks and for a plugin's.
type body struct {
	*diagnostic.Collector
	document *document
	scope    *expression.Scope
	// path is the block's kind within its parents: "fleet.scaling".
	path string
	// where names the block in messages: `scaling of fleet "linux"`.
	where string
	// labels are the block's labels, checked as names unless it has none.
	labels []string
	header hcl.Range
	syntax *hclsyntax.Body
	// takesEffect are the paths of what mostly has no effect yet and has one here.
	takesEffect []string

	attributes []string
	blocks     []string
	// valid are the attributes that are written and right.
	valid []string
	// inner are the blocks within this one that have been read, by type.
	inner map[string][]*body
	// postponed are the blocks that are read later.
	postponed []string
}

// attribute is the attribute of that name; nil: it isn't set.
func (b *body) attribute(name string) *hclsyntax.Attribute {
	b.attributes = append(b.attributes, name)
	return b.syntax.Attributes[name]
}

// value evaluates an attribute. False: it is not set, null, or already reported.
func (b *body) value(name string) (cty.Value, *hclsyntax.Attribute, bool) {
	attribute := b.attribute(name)
	if attribute == nil {
		return cty.NilVal, nil, false
	}
	value, ok := b.scope.Evaluate(b.Collector, attribute.Expr, b.where)
	if !ok || value.IsNull() {
		return cty.NilVal, attribute, false
	}
	return value, attribute, true
}

// need reports the attribute as missing unless it is written. Example is a line
// that would do.
func (b *body) need(name, example string) {
	if b.syntax.Attributes[name] == nil {
		b.Fail(b.header, b.where, fmt.Sprintf("%q is missing", name),
			fmt.Sprintf("It is required in %s. For example: %s", b.where, example))
		return
	}
	if b.isNull(name) {
		b.Fail(b.syntax.Attributes[name].Expr.Range(), b.where, fmt.Sprintf("%q can't be null", name),
			fmt.Sprintf("It is required in %s. For example: %s", b.where, example))
	}
}

// isNull says whether an attribute is written, right, and null: that is the
// same as leaving it out.
func (b *body) isNull(name string) bool {
	attribute := b.syntax.Attributes[name]
	if attribute == nil {
		return false
	}
	if value, ok := expression.Literal(attribute.Expr); ok {
		return value.IsNull()
	}
	if reference, ok := attribute.Expr.(*hclsyntax.ScopeTraversalExpr); ok &&
		slices.Contains(expression.BlockRoots, reference.Traversal.RootName()) {
		return false // a block, or an error that is told elsewhere
	}
	value, ok := b.scope.Evaluate(diagnostic.NewCollector(), attribute.Expr, "")
	return ok && value.IsNull()
}

// single is the one block of that type without labels; nil: there is none.
func (b *body) single(blockType string) *body {
	found := b.children(blockType)
	for _, extra := range found[min(1, len(found)):] {
		b.Fail(extra.header, b.where, fmt.Sprintf("Duplicate %s block", blockType),
			fmt.Sprintf("The first one is at %s. Put both into one.", diagnostic.Place(found[0].header)))
	}
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// children are all blocks of that type, in the order of the text. Each must
// have the named labels, which must be names.
func (b *body) children(blockType string, labels ...string) []*body {
	b.blocks = append(b.blocks, blockType)
	var found []*body
	for _, block := range b.syntax.Blocks {
		if block.Type != blockType {
			continue
		}
		child := &body{
			document: b.document, Collector: b.Collector, scope: b.scope, labels: block.Labels,
			header: block.DefRange(), syntax: block.Body, where: blockName(block), path: block.Type,
		}
		if b.where != "" {
			child.where += " of " + b.where
			child.path = b.path + "." + block.Type
		}
		if b.labelled(block, labels) {
			found = append(found, child)
		}
	}
	return found
}

func (b *body) labelled(block *hclsyntax.Block, want []string) bool {
	if len(block.Labels) != len(want) {
		form := block.Type
		for _, label := range want {
			form += fmt.Sprintf(" %q", label)
		}
		b.Fail(
			block.DefRange(),
			b.where,
			fmt.Sprintf("The block %q needs %s, has %s", block.Type, diagnostic.Counted(len(want), "label"),
				diagnostic.NumberWord(len(block.Labels))),
			fmt.Sprintf("Write: %s { … }", form),
		)
		return false
	}
	fine := true
	for i, label := range block.Labels {
		if !fleet.ValidName(label) {
			b.Fail(block.LabelRanges[i], b.where, fmt.Sprintf("Invalid name %q", diagnostic.Clip(label)), form.NameAdvice)
			fine = false
		}
	}
	return fine
}

// close reports the attributes and blocks that were not read.
func (b *body) close() {
	if b.path != "" && !strings.Contains(b.path, ".") { // with all blocks within it
		b.noteNotYet(b.takesEffect)
	}
	for _, name := range b.unread() {
		attribute := b.syntax.Attributes[name]
		detail := cmp.Or(b.livesIn(name), suggestion.For(name, "attributes", b.attributes))
		if slices.Contains(b.blocks, name) {
			detail = fmt.Sprintf("%q is a block. Write: %s { … } without an equals sign.", name, name)
		}
		b.Fail(
			attribute.NameRange,
			b.where,
			fmt.Sprintf("Unexpected attribute %q", name),
			cmp.Or(detail, "This block has no attributes."),
		)
	}
	for _, block := range b.syntax.Blocks {
		if slices.Contains(b.blocks, block.Type) {
			continue
		}
		if b.Full() {
			continue
		}
		detail := suggestion.For(block.Type, "blocks", b.blocks)
		if slices.Contains(b.attributes, block.Type) {
			detail = fmt.Sprintf("%q is an attribute. Write: %s = … with an equals sign.", block.Type, block.Type)
		}
		b.Fail(
			block.TypeRange,
			b.where,
			fmt.Sprintf("Unexpected block %q", block.Type),
			cmp.Or(detail, "No blocks are expected here."),
		)
	}
}

// unread are the names of attributes that were not read, in the order of the text.
func (b *body) unread() []string {
	var names []string
	for name := range b.syntax.Attributes {
		if !slices.Contains(b.attributes, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Compare(b.syntax.Attributes[x].NameRange.Start.Byte, b.syntax.Attributes[y].NameRange.Start.Byte)
	})
	return names
}

// at is where a diagnostic of the attribute belongs: its value, or the
// block's header where it isn't written.
func (b *body) at(name string) hcl.Range {
	if attribute := b.syntax.Attributes[name]; attribute != nil {
		return attribute.Expr.Range()
	}
	return b.header
}

// blockName is a block as people call it: `fleet "linux"`.
func blockName(block *hclsyntax.Block) string {
	name := block.Type
	for _, label := range block.Labels {
		name += fmt.Sprintf(" %q", diagnostic.Clip(label))
	}
	return name
}

// livesIn says in which block an attribute is expected that isn't in this one: in
// one within it, else in one of the blocks around it.
func (b *body) livesIn(name string) string {
	if b.document.language == nil {
		return ""
	}
	around := b.path
	for {
		var found []string
		for _, block := range b.document.language.reference() {
			inside := block.Path == around || strings.HasPrefix(block.Path, around+".")
			if inside && block.Path != b.path &&
				slices.ContainsFunc(block.Attributes, func(a ReferenceAttribute) bool { return a.Name == name }) {
				found = append(found, block.Path)
			}
		}
		up := strings.LastIndex(around, ".")
		if len(found) == 1 {
			last := found[0][strings.LastIndex(found[0], ".")+1:]
			return fmt.Sprintf("It belongs in %s. Write: %s { %s = … }", found[0], last, name)
		}
		if len(found) > 1 {
			return fmt.Sprintf("It belongs in %s.", strings.Join(found, " or "))
		}
		if up < 0 {
			return ""
		}
		around = around[:up]
	}
}

// within is where a complaint about an attribute, or one of a block within this
// one, belongs: "placement.regions". Where it isn't written, what is around it.
func (b *body) within(path string) hcl.Range {
	name, rest, nested := strings.Cut(path, ".")
	for _, child := range b.syntax.Blocks {
		if child.Type != name {
			continue
		}
		if attribute := child.Body.Attributes[rest]; nested && attribute != nil {
			return attribute.Expr.Range()
		}
		return child.DefRange()
	}
	return b.at(name)
}
