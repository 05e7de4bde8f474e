package config

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// language is the blocks that may stand at the top of a file, declared by the fields
// of a struct.
type language struct {
	top       *declaration
	sentences map[string]notYetSentence
	// reference describes all blocks for people, and notYetTable is what it says of
	// those that have no effect yet, by path of the block or attribute.
	reference   func() []ReferenceBlock
	notYetTable func() map[string]string
}

// notYetSentence is what is missing where a value is read and stored and has no
// effect. Offers says that it has one where the provider's plugin lists offers.
type notYetSentence struct {
	text   string
	offers bool
}

// newLanguage is the language that the tags of a struct declare, with the sentences
// that its tags notyet name. A wrong tag is a fault of the program and panics.
func newLanguage(file reflect.Type, sentences map[string]notYetSentence) *language {
	l := &language{top: declared(file), sentences: sentences}
	if err := l.top.checkSentences(sentences); err != nil {
		panic(err)
	}
	l.reference = sync.OnceValue(func() []ReferenceBlock {
		var list []ReferenceBlock
		for _, block := range l.top.blocks {
			first := len(list)
			list = l.appendReference(list, "", block)
			list[first].Example = block.example()
		}
		return list
	})
	l.notYetTable = sync.OnceValue(func() map[string]string {
		table := map[string]string{}
		for _, block := range l.reference() {
			if block.NotYet != "" {
				table[block.Path] = block.NotYet
			}
			for _, attribute := range block.Attributes {
				if attribute.NotYet != "" {
					table[block.Path+"."+attribute.Name] = attribute.NotYet
				}
			}
		}
		return table
	})
	return l
}

// checkSentences finds tags notyet that name no sentence.
func (d *declaration) checkSentences(sentences map[string]notYetSentence) error {
	var problems []error
	for _, one := range d.attributes {
		if one.notYet != "" && sentences[one.notYet] == (notYetSentence{}) {
			problems = append(problems, fmt.Errorf("%s: unknown sentence %q", one.name, one.notYet))
		}
	}
	for _, nested := range d.blocks {
		problems = append(problems, nested.checkSentences(sentences))
	}
	return errors.Join(problems...)
}
