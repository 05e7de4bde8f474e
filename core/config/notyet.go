package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
)

// notYet is the use of something that is read and stored, and does nothing yet.
type notYet struct {
	sentence string
	first    hcl.Range
	where    string
	// places are all uses; a block with for_each is read many times.
	places map[hcl.Range]bool
}

// noteNotYet takes note of what a body, and the blocks that were read within it,
// uses that has no effect yet. Effective are the paths of what has one here.
func (b *body) noteNotYet(effective []string) {
	b.takesEffect = effective
	for _, blocks := range b.inner {
		for _, block := range blocks {
			block.noteNotYet(effective)
		}
	}
	var table map[string]string
	if b.document.language != nil {
		table = b.document.language.notYetTable()
	}
	if sentence, found := table[b.path]; found {
		b.note(b.path, sentence, b.header)
	}
	for name, attribute := range b.syntax.Attributes {
		if sentence, found := table[b.path+"."+name]; found && b.path != "" {
			b.note(b.path+"."+name, sentence, attribute.NameRange)
		}
	}
}

func (b *body) note(path, sentence string, at hcl.Range) {
	if slices.Contains(b.takesEffect, path) {
		return
	}
	one := b.document.notYet[path]
	if one == nil {
		one = &notYet{sentence: sentence, places: map[hcl.Range]bool{}}
		b.document.notYet[path] = one
	}
	one.places[at] = true
	before := cmp.Or(cmp.Compare(at.Filename, one.first.Filename), cmp.Compare(at.Start.Byte, one.first.Start.Byte)) < 0
	if one.where == "" || before {
		one.first, one.where = at, b.where
	}
}

// noEffectYet warns, once for each kind, of what the files use and this version
// only reads and stores. Each warning stands at the first use.
func (d *document) noEffectYet() diagnostic.List {
	report := d.SameTexts()
	for path, one := range d.notYet {
		detail := one.sentence
		if more := len(one.places) - 1; more > 0 {
			detail += fmt.Sprintf(" It is used in %s more.", diagnostic.Counted(more, "place"))
		}
		report.Warn(one.first, one.where, fmt.Sprintf("%s is read and stored, and has no effect yet", path), detail)
	}
	list := report.Sorted()
	return slices.Clip(list)
}
