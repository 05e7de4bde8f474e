package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/config/source"
)

// document is the files that are read together: what was found wrong with them, what
// their expressions may refer to, and what is known of the blocks that they may hold.
type document struct {
	*diagnostic.Collector
	scope  *expression.Scope
	parser *source.Parser
	// language is nil where the files aren't fleet files.
	language *language
	// notYet is what is written and has no effect yet, by its path.
	notYet map[string]*notYet
	// defaults are the plugins' defaults by their text, each parsed once for all
	// the blocks that leave the attribute out.
	defaults map[string]cty.Value
}

// newDocument is an empty document of a language; nil: of none.
func newDocument(of *language) *document {
	return &document{
		Collector: diagnostic.NewCollector(), scope: expression.NewScope(), parser: &source.Parser{}, language: of,
		notYet: map[string]*notYet{}, defaults: map[string]cty.Value{},
	}
}

// parseAll makes one body of all files.
func (d *document) parseAll(sources []source.File) (*body, bool) {
	sources = slices.Clone(sources)
	slices.SortFunc(sources, func(a, b source.File) int { return strings.Compare(a.Name, b.Name) })
	all := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}}
	fine := true
	header := hcl.Range{}
	size := 0
	for _, file := range sources {
		size += len(file.Bytes)
	}
	d.scope.AllowStepsFor(size)
	if size > source.MaxSourceBytes {
		d.Fail(
			header,
			"",
			"The fleet files are too large",
			fmt.Sprintf("They have more than %d MiB together. Is one of them not a fleet file?", source.MaxSourceBytes>>20),
		)
		return nil, false
	}
	for i, file := range sources {
		parsed, ok := d.parser.Parse(d.Collector, file)
		if !ok {
			fine = false
			continue
		}
		if i == 0 {
			header = hcl.Range{Filename: file.Name, Start: hcl.InitialPos, End: hcl.InitialPos}
		}
		all.Blocks = append(all.Blocks, parsed.Blocks...)
		for _, attribute := range source.InTextOrder(parsed.Attributes) {
			fine = false
			d.Fail(attribute.NameRange, "", fmt.Sprintf("Unexpected attribute %q", attribute.Name),
				"Only blocks are allowed at the top of a file. Put values to refer to into locals { … }.")
		}
	}
	return &body{document: d, Collector: d.Collector, scope: d.scope, header: header, syntax: all}, fine
}

func (d *document) parsedDefault(text string) (cty.Value, error) {
	if value, done := d.defaults[text]; done {
		return value, nil
	}
	kind, err := ctyjson.ImpliedType([]byte(text))
	if err != nil {
		return cty.NilVal, err
	}
	value, err := ctyjson.Unmarshal([]byte(text), kind)
	if err == nil {
		d.defaults[text] = value
	}
	return value, err
}
