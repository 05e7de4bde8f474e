package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
)

// outline is everything that a body holds, with where it stands.
func outline(body *hclsyntax.Body) []string {
	var lines []string
	for _, attribute := range InTextOrder(body.Attributes) {
		lines = append(lines, fmt.Sprintf("%s %s %s", attribute.Name, attribute.SrcRange, attribute.Expr.Range()))
	}
	for _, block := range body.Blocks {
		lines = append(lines, fmt.Sprintf("%s %v %s", block.Type, block.Labels, block.Range()))
		lines = append(lines, outline(block.Body)...)
	}
	return lines
}

// sameAsWhole compares reading in pieces with reading whole.
func sameAsWhole(t *testing.T, text string) {
	t.Helper()
	report := diagnostic.NewCollector()
	if !new(Parser).withinLimits(report, "a.hcl", []byte(text)) || countWords([]byte(text)) > maxPieceWords {
		return
	}
	tokens, _ := hclsyntax.LexConfig([]byte(text), "a.hcl", hcl.InitialPos)
	if !shallow(diagnostic.NewCollector(), tokens) {
		if _, ok := new(Parser).parseText(report, "a.hcl", []byte(text)); ok {
			t.Fatalf("in pieces, what is too deep was read")
		}
		return
	}
	pieces, ok := new(Parser).parseText(report, "a.hcl", []byte(text))
	whole, problems := hclsyntax.ParseConfig([]byte(text), "a.hcl", hcl.InitialPos)
	if ok == problems.HasErrors() {
		t.Fatalf("in pieces %v %v, whole %v", ok, report.Sorted(), problems)
	}
	if ok {
		if difference := cmp.Diff(outline(whole.Body.(*hclsyntax.Body)), outline(pieces)); difference != "" {
			t.Fatal(difference)
		}
	}
}

var filler = strings.Repeat("# a comment that fills a piece\n", 40)

func TestParsingInPiecesEqualsParsingWhole(t *testing.T) {
	for name, text := range map[string]string{
		"blocks":                     strings.Repeat("a \"b\" {\n  c = 1\n}\n", 200),
		"a brace in a here-document": "a {\n  b = <<EOT\n" + filler + "}\n" + filler + "}\nEOT\n}\nc = 1\n",
		"a brace in a comment":       "/*\n" + filler + "}\n" + filler + "*/\na = 1\n",
		"a brace in a list":          "a = [\n{\n" + filler + "}\n]\n" + filler + "b = 1\n",
		"a brace of an inner block":  "a {\nb {\n" + filler + "}\n" + filler + "}\n",
		"an attribute set twice":     "a = 1\nb {\n" + filler + "}\na = 2\n",
		"an unclosed block":          "a {\n" + filler + "b {\n}\n" + filler,
		"an error at the end":        "a {\n" + filler + "}\n" + filler + "b = \n",
		"windows line breaks":        strings.ReplaceAll("a {\n"+filler+"}\nb {\n}\n", "\n", "\r\n"),
		"no line break at the end":   "a {\n" + filler + "}\nb {\n}",
		"nothing":                    "",
		"letters of many bytes":      "a {\n  ä = \"ö 👩‍👩‍👧\"\n" + filler + "}\nü \"x\" {\n}\n",
		"a mark at the beginning":    "\ufeffa {\n" + filler + "}\nb {\n}\n",
	} {
		t.Run(name, func(t *testing.T) { sameAsWhole(t, text) })
	}
}

func FuzzPieces(f *testing.F) {
	f.Add("a {\n  b = <<EOT\n}\nEOT\n}\n", 40)
	f.Add("a = [\n{\n}\n]\nb = 1e999\n", 3)
	f.Add("/*\n}\n*/ a = \"${b[*].c}\"\n", 20)
	f.Fuzz(func(t *testing.T, text string, times int) {
		sameAsWhole(t, strings.Repeat(text, 1+min(max(times, 0), 40)))
	})
}

// The look at the bytes may see more nesting than there is, and never less.
func FuzzNesting(f *testing.F) {
	f.Add("a = [[1, -2], {b = !c}]\n")
	f.Add("a = \"${\"${b}\"}%{if c}d%{endif}\"\n")
	f.Add("a = 1e9999\nb = 11111111111111111111111111111111111111111111111111111111111111111111111\n")
	f.Fuzz(func(t *testing.T, text string) {
		tokens, _ := hclsyntax.LexConfig([]byte(text), "", hcl.InitialPos)
		if !shallow(diagnostic.NewCollector(), tokens) && nestingAtMost([]byte(text)) <= maxDepth &&
			!mayHoldHugeNumber([]byte(text)) {
			t.Fatalf("%q is too deep or has a huge number, and no one would have looked", text)
		}
	})
}
