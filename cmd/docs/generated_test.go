package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/cmd/internal/plugindocs"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/replay"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
)

var update = flag.Bool("update", false, "rewrite what is made from the code")

func TestWhatIsMadeFromTheCodeIsWhatTheCodeSays(t *testing.T) {
	plugins := pluginSchemas(t).plugins
	local, libvirt, manual := plugins["local"], plugins["libvirt"], plugins["manual"]
	parts := []struct{ page, part, text string }{
		{"docs/fleet-hcl.md", "blocks", blocksMarkdown()},
		{"docs/fleet-hcl.md", "functions", functionsMarkdown()},
		{"docs/concepts.md", "lifecycle", lifecycleMarkdown()},
		{"docs/plugins/local.md", "provider", plugindocs.Table(local.Provider)},
		{"docs/plugins/local.md", "instance", plugindocs.Table(local.Instance)},
		{"docs/plugins/libvirt.md", "provider", plugindocs.Table(libvirt.Provider)},
		{"docs/plugins/libvirt.md", "instance", plugindocs.Table(libvirt.Instance)},
		{"docs/plugins/manual.md", "provider", plugindocs.Table(manual.Provider)},
		{"docs/plugins/manual.md", "instance", plugindocs.Table(manual.Instance)},
		{"docs/plugin-test.md", "rules", rulesMarkdown()},
		{"docs/simulate.md", "columns", traceColumnsMarkdown()},
		{"docs/reasons.md", "reasons", reasonsMarkdown(t)},
	}
	t.Run("the sample of every attribute", func(t *testing.T) {
		path := filepath.Join(root, "docs", "samples", "every-attribute.hcl")
		if *update {
			if err := os.WriteFile(path, []byte(everyAttribute()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if read(t, "docs", "samples", "every-attribute.hcl") != everyAttribute() {
			t.Error("it is not what the reference says; write it again with: go generate ./cmd/docs")
		}
	})
	for _, part := range parts {
		t.Run(part.page+" "+part.part, func(t *testing.T) {
			page := read(t, part.page)
			want, err := replacePart(page, part.part, part.text)
			if err != nil {
				t.Fatal(err)
			}
			if want == page {
				return
			}
			if !*update {
				t.Fatal("it is not what the code says; write it again with: go generate ./cmd/docs")
			}
			if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(part.page)), []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// everyAttribute is all examples of the reference as one file.
func everyAttribute() string {
	text := "# Every block with every attribute. Made from the reference by \"go generate ./cmd/docs\"; a test compares.\n"
	for _, block := range config.Reference() {
		if block.Example != "" {
			text += "\n" + block.Example
		}
	}
	return text
}

// replacePart puts text between the markers of a part of a page.
func replacePart(page, part, text string) (string, error) {
	begin, end := "<!-- "+part+":begin -->\n", "<!-- "+part+":end -->"
	head, rest, found := strings.Cut(page, begin)
	_, tail, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		return "", fmt.Errorf("the page lacks the markers %q and %q", strings.TrimSpace(begin), end)
	}
	return head + begin + text + end + tail, nil
}

// blocksMarkdown is one section for each block, with the example of a block at
// the top before those within it.
func blocksMarkdown() string {
	var page strings.Builder
	for _, block := range config.Reference() {
		steps := strings.Split(block.Path, ".")
		form := steps[len(steps)-1]
		for _, label := range block.Labels {
			form += fmt.Sprintf(" %q", label)
		}
		if len(steps) > 1 {
			fmt.Fprintf(&page, "### `%s` in `%s`\n\n", form, strings.Join(steps[:len(steps)-1], "."))
		} else {
			fmt.Fprintf(&page, "## `%s`\n\n", form)
		}
		fmt.Fprintf(&page, "%s *%s*\n\n", withNotYet(block.Doc, block.NotYet, false), howMany(block))
		if block.Example != "" {
			fmt.Fprintf(&page, "```hcl\n%s```\n\n", block.Example)
		}
		if len(block.Attributes) == 0 {
			continue
		}
		page.WriteString("| attribute | type | default | |\n|---|---|---|---|\n")
		for _, one := range block.Attributes {
			standard := ""
			switch {
			case one.Required:
				standard = "**required**"
			case one.Default != "":
				standard = "`" + one.Default + "`"
			}
			fmt.Fprintf(
				&page,
				"| `%s` | %s | %s | %s |\n",
				one.Name,
				one.Type,
				standard,
				withNotYet(one.Doc, one.NotYet, one.Offers),
			)
		}
		page.WriteString("\n")
	}
	return page.String()
}

// withNotYet adds that something has no effect yet, and what is missing. What only
// needs a provider that lists offers has one where there is such.
func withNotYet(doc, notYet string, offers bool) string {
	switch {
	case notYet == "":
		return doc
	case offers:
		return doc +
			" *Only with a provider whose plugin lists offers, as `aws` does;* for any other it is read and stored, and a " +
			"plan says: " + notYet
	}
	return doc + " *Not yet:* it is read and stored. " + notYet
}

func howMany(block config.ReferenceBlock) string {
	switch {
	case block.Required:
		return "Exactly one."
	case block.Repeated:
		return "Any number."
	}
	return "At most one."
}

func functionsMarkdown() string {
	return "`" + strings.Join(config.Functions(), "`, `") + "`.\n"
}

// lifecycleMarkdown is the table of the state machine. A marker within a table
// would end it, so the head is a part of what is made.
func lifecycleMarkdown() string {
	var table strings.Builder
	table.WriteString("| from | to | because of | when |\n|---|---|---|---|\n")
	for _, edge := range lifecycle.Edges() {
		fmt.Fprintf(&table, "| %s | %s | `%s` | %s |\n", edge.From, edge.To, edge.Cause, edge.When)
	}
	return table.String()
}

// rulesMarkdown is the table of the conformance kit's rules.
func rulesMarkdown() string {
	var table strings.Builder
	table.WriteString("| rule | what it says | |\n|---|---|---|\n")
	for _, rule := range conformance.Rules() {
		var needs []string
		if rule.Creates {
			needs = append(needs, "creates")
		}
		if rule.Process {
			needs = append(needs, "process")
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", rule.Name, rule.Says, strings.Join(needs, ", "))
	}
	return table.String()
}

// traceColumnsMarkdown is a table of the columns of a trace.
func traceColumnsMarkdown() string {
	var page strings.Builder
	page.WriteString("| column | |\n|---|---|\n")
	for _, c := range replay.Columns() {
		fmt.Fprintf(&page, "| `%s` | %s |\n", c.Name, c.Doc)
	}
	return page.String()
}
