package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/agent"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// A snippet with a forgeyard block is a whole file and loads. Any other is a
// fragment of one: it begins with blocks of the top, and every name in it is one
// that the reference or the plugin's schema has.
func TestEveryHCLSnippetIsAFleetFileOrAPartOfOne(t *testing.T) {
	plugins := pluginSchemas(t)
	whole, fragments := 0, 0
	for _, page := range pages(t) {
		for n, snippet := range codeBlocks(read(t, page), "hcl") {
			t.Run(fmt.Sprintf("%s %d", page, n+1), func(t *testing.T) {
				parsed := parse(t, snippet)
				isWhole := slices.ContainsFunc(
					parsed.Blocks,
					func(b *hclsyntax.Block) bool { return b.Type == "forgeyard" && hasInstallation(b) },
				)
				if isWhole && !isReferenceExample(snippet) {
					whole++
					mustLoad(t, page, snippet, plugins)
					return
				}
				fragments++
				for _, problem := range checkFragment(parsed, plugins) {
					t.Error(problem)
				}
			})
		}
	}
	if whole == 0 || fragments == 0 {
		t.Errorf("%d whole files and %d fragments were found; the pages should have both", whole, fragments)
	}
}

func TestEveryFileOfAPluginsTestOnAPageLoads(t *testing.T) {
	manual, err := pluginSchemas(t).Schemas("manual")
	if err != nil {
		t.Fatal(err)
	}
	snippets := codeBlocks(read(t, "docs/plugin-test.md"), "hcl plugin-test")
	for _, snippet := range snippets {
		if _, found := config.LoadPluginTest(
			config.Source{Name: "test.hcl", Bytes: []byte(snippet)},
			manual,
		); len(
			found,
		) > 0 {
			t.Error(found)
		}
	}
	if len(snippets) == 0 {
		t.Error("the page shows no file")
	}
}

func TestTheExamplesOfTheReferenceAreOneFileThatLoads(t *testing.T) {
	var text strings.Builder
	for _, block := range config.Reference() {
		text.WriteString(block.Example)
	}
	mustLoad(t, "docs/fleet-hcl.md", text.String(), pluginSchemas(t))
}

func TestEveryExampleAndTheStarterLoad(t *testing.T) {
	plugins := pluginSchemas(t)
	found := 0
	err := filepath.WalkDir(filepath.Join(root, "examples"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".hcl" && filepath.Base(path) != config.LockFileName {
			found++
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) { mustLoad(t, path, string(content), plugins) })
		}
		return err
	})
	if err != nil || found == 0 {
		t.Fatalf("%d examples, %v", found, err)
	}
	starter := strings.NewReplacer("@OS@", "linux", "@ARCH@", "arm64").
		Replace(read(t, "cmd", "forgeyard-fleet", "starter.hcl"))
	mustLoad(t, "starter.hcl", starter, plugins)
}

func TestTheReferenceNamesEveryCapabilityThatAgentsCanShow(t *testing.T) {
	page := read(t, "docs/fleet-hcl.md")
	for name := range agent.HostProbes() {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/fleet-hcl.md doesn't name the capability %q", name)
		}
	}
}

func TestAFragmentWithANameThatDoesNotExistIsFound(t *testing.T) {
	plugins := pluginSchemas(t)
	for _, fragment := range []string{
		"x = 1",
		"scaling {\n  min = 1\n}",
		"flet \"a\" {\n}",
		"fleet {\n}",
		"fleet \"a\" {\n  scalling {\n  }\n}",
		"fleet \"a\" {\n  scaling {\n    minimum = 1\n  }\n}",
		"provider \"acme\" \"here\" {\n}",
		"provider \"local\" \"here\" {\n  rot = \"/a\"\n}",
		"fleet \"a\" {\n  provider = provider.local.here\n\n  instance {\n    nicer = 1\n  }\n}",
	} {
		if len(checkFragment(parse(t, fragment), plugins)) == 0 {
			t.Errorf("nothing is wrong with: %s", fragment)
		}
	}
}

func parse(t *testing.T, text string) *hclsyntax.Body {
	t.Helper()
	file, problems := hclsyntax.ParseConfig([]byte(text), "snippet.hcl", hcl.InitialPos)
	if problems.HasErrors() {
		t.Fatalf("%s\n%s", problems, text)
	}
	return file.Body.(*hclsyntax.Body)
}

func mustLoad(t *testing.T, name, text string, plugins schemas) {
	t.Helper()
	_, found := config.Load([]config.Source{{Name: name, Bytes: []byte(text)}}, config.Variables{}, plugins)
	if len(found) > 0 {
		var shown strings.Builder
		if err := found.Render(&shown, false); err != nil {
			t.Fatal(err)
		}
		t.Error(shown.String())
	}
}

func hasInstallation(b *hclsyntax.Block) bool { return b.Body.Attributes["installation"] != nil }

// isReferenceExample: those are one file together, and tested as such.
func isReferenceExample(snippet string) bool {
	return slices.ContainsFunc(config.Reference(), func(b config.ReferenceBlock) bool { return b.Example == snippet })
}

// checkFragment says which names of a fragment there are not.
func checkFragment(body *hclsyntax.Body, plugins schemas) []string {
	c := fragmentCheck{plugins: plugins, known: map[string]config.ReferenceBlock{}}
	for _, block := range config.Reference() {
		c.known[block.Path] = block
	}
	for name := range body.Attributes {
		c.problem("attribute %q at the top", name)
	}
	c.blocks("", body, "")
	return c.problems
}

type fragmentCheck struct {
	plugins  schemas
	known    map[string]config.ReferenceBlock
	problems []string
}

func (c *fragmentCheck) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *fragmentCheck) blocks(path string, body *hclsyntax.Body, plugin string) {
	for _, block := range body.Blocks {
		at := strings.TrimPrefix(path+"."+block.Type, ".")
		known, ok := c.known[at]
		if !ok {
			c.problem("there is no block %s", at)
			continue
		}
		if len(block.Labels) != len(known.Labels) {
			c.problem("%s has the labels %v", at, known.Labels)
			continue
		}
		c.body(at, known, block, plugin)
	}
}

func (c *fragmentCheck) body(at string, known config.ReferenceBlock, block *hclsyntax.Block, plugin string) {
	var names []string
	switch known.Body {
	case config.FreeBody, config.EntryBody:
		return
	case config.PluginBody:
		if at == "provider" {
			plugin = block.Labels[0]
		}
		if plugin == "" {
			return // a fragment that doesn't say which plugin it is for
		}
		described, err := c.plugins.Schemas(plugin)
		if err != nil {
			c.problem("%v", err)
			return
		}
		schema := described.Instance
		if at == "provider" {
			schema = described.Provider
		}
		names = attributeNames(schema)
		for _, one := range known.Attributes {
			names = append(names, one.Name)
		}
	default:
		for _, one := range known.Attributes {
			names = append(names, one.Name)
		}
		plugin = pluginOf(block.Body)
	}
	for name := range block.Body.Attributes {
		if !slices.Contains(names, name) {
			c.problem("%s has no attribute %q", at, name)
		}
	}
	c.blocks(at, block.Body, plugin)
}

func attributeNames(schema fleet.PluginSchema) []string {
	var names []string
	for _, one := range schema.Attributes {
		names = append(names, one.Name)
	}
	return names
}

// pluginOf is the plugin of a fleet's provider; empty: it isn't said.
func pluginOf(body *hclsyntax.Body) string {
	attribute := body.Attributes["provider"]
	if attribute == nil {
		return ""
	}
	traversal, problems := hcl.AbsTraversalForExpr(attribute.Expr)
	if problems.HasErrors() || len(traversal) < 2 {
		return ""
	}
	step, _ := traversal[1].(hcl.TraverseAttr)
	return step.Name
}
