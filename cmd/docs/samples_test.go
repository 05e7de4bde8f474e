package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// awsSchemas stands in for a plugin that isn't in this repository, with what the
// sample uses of it.
type awsSchemas struct{ schemas }

func (s awsSchemas) Schemas(plugin string) (fleet.PluginSchemas, error) {
	if plugin != "aws" {
		return s.schemas.Schemas(plugin)
	}
	text := fleet.PluginType{Kind: fleet.KindString}
	texts := fleet.PluginType{Kind: fleet.KindList, Element: &text}
	return fleet.PluginSchemas{
		Name: "aws", Version: "0.1.0",
		Provider: fleet.PluginSchema{Attributes: []fleet.PluginAttribute{{Name: "region", Type: text, Required: true}}},
		Instance: fleet.PluginSchema{Attributes: []fleet.PluginAttribute{
			{Name: "types", Type: texts, Required: true, Immutable: true}, {Name: "subnets", Type: texts},
		}},
	}, nil
}

func loadSample(t *testing.T, name string, plugins config.SchemaSource) *config.Loaded {
	t.Helper()
	text := read(t, "docs", "samples", name)
	loaded, found := config.Load([]config.Source{{Name: name, Bytes: []byte(text)}}, config.Variables{}, plugins)
	if found.HasErrors() {
		var shown strings.Builder
		_ = found.Render(&shown, false)
		t.Fatal(shown.String())
	}
	// An entry for a provider that isn't declared is there to show the form.
	if len(found) > 0 && (len(found) != 1 || !strings.Contains(found[0].Summary, "is never used")) {
		t.Errorf("%v", found)
	}
	formatted, found := config.Format(config.Source{Name: name, Bytes: []byte(text)})
	if len(found) > 0 || string(formatted) != text {
		t.Errorf("%s isn't in normal form: %v", name, found)
	}
	return loaded
}

func TestTheSampleOfEveryBlockLoads(t *testing.T) {
	loaded := loadSample(t, "every-block.hcl", awsSchemas{pluginSchemas(t)})
	d := loaded.Definition
	if len(d.Fleets) != 1 || len(d.Schedulers) != 1 || len(d.Reservations) != 1 || len(d.Moved) != 1 ||
		len(d.Removed) != 1 {
		t.Errorf("a block is missing: %+v", d)
	}
	blocks := map[string]bool{}
	visit(t, "every-block.hcl", func(path string, _ *hclsyntax.Body) { blocks[path] = true })
	// What one writes only where it is needed.
	others := []string{
		"variable",
		"variable.validation",
		"locals",
		"policy",
		"policy.entitlement",
		"fleet.admission",
		"fleet.forecast",
	}
	for _, block := range config.Reference() {
		if blocks[block.Path] == slices.Contains(others, block.Path) {
			t.Errorf("%s: in the sample %t", block.Path, blocks[block.Path])
		}
	}
}

func TestTheSampleOfEveryAttributeHasEachOne(t *testing.T) {
	loadSample(t, "every-attribute.hcl", pluginSchemas(t))
	used := map[string]bool{}
	visit(t, "every-attribute.hcl", func(path string, body *hclsyntax.Body) {
		for name := range body.Attributes {
			used[path+"."+name] = true
		}
	})
	for _, block := range config.Reference() {
		for _, attribute := range block.Attributes {
			if name := block.Path + "." + attribute.Name; block.Body == config.FixedBody && !used[name] {
				t.Errorf("the sample lacks %s", name)
			}
		}
	}
}

// What the reference calls without effect is told of the samples, each once, and
// nothing else is.
func TestWhatHasNoEffectYetIsToldFromTheReference(t *testing.T) {
	loaded := loadSample(t, "every-attribute.hcl", pluginSchemas(t))
	told := map[string]bool{}
	for _, warning := range loaded.NoEffectYet() {
		path, _, _ := strings.Cut(warning.Summary, " ")
		if warning.Severity != config.Warning || warning.Range.Line == 0 || told[path] {
			t.Errorf("%+v", warning)
		}
		told[path] = true
	}
	for _, block := range config.Reference() {
		if told[block.Path] != (block.NotYet != "") {
			t.Errorf("%s: told %t", block.Path, told[block.Path])
		}
		for _, attribute := range block.Attributes {
			if told[block.Path+"."+attribute.Name] != (attribute.NotYet != "") {
				t.Errorf("%s.%s: told %t", block.Path, attribute.Name, told[block.Path+"."+attribute.Name])
			}
		}
	}
}

// visit goes through all blocks of a sample.
func visit(t *testing.T, name string, do func(path string, body *hclsyntax.Body)) {
	t.Helper()
	var walk func(path string, body *hclsyntax.Body)
	walk = func(path string, body *hclsyntax.Body) {
		for _, block := range body.Blocks {
			inner := strings.TrimPrefix(path+"."+block.Type, ".")
			do(inner, block.Body)
			walk(inner, block.Body)
		}
	}
	walk("", parse(t, read(t, "docs", "samples", name)))
}
