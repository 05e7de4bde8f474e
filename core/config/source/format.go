package source

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
)

// Format gives a fleet file's text in normal form: two spaces for each level,
// equals signs in a column, one line break at the end. Comments and blank lines
// stay, and so does the meaning: only the space between words changes. Text that
// doesn't parse is not touched; the diagnostics say why.
func Format(source File) ([]byte, diagnostic.List) {
	report := diagnostic.NewCollector()
	if _, ok := new(Parser).Parse(report, source); !ok {
		return nil, report.Sorted()
	}
	if len(bytes.TrimSpace(source.Bytes)) == 0 {
		return []byte{}, nil
	}
	// One pass can bring about what the next one changes again. A form that
	// doesn't settle is none.
	formatted := source.Bytes
	for range 10 {
		next := append(bytes.TrimRight(hclwrite.Format(formatted), " \t\r\n"), '\n')
		if !sameWords(source.Bytes, next) {
			break
		}
		if bytes.Equal(next, formatted) {
			return formatted, nil
		}
		formatted = next
	}
	report.Warn(
		hcl.Range{Filename: source.Name, Start: hcl.InitialPos, End: hcl.InitialPos},
		"",
		"The file can't be formatted",
		"Something in it has no normal form. It is left as it is; that is a fault of forgeyard-fleet.",
	)
	return source.Bytes, report.Sorted()
}

// sameWords says whether two texts are the same but for space between words.
func sameWords(a, b []byte) bool {
	x, _ := hclsyntax.LexConfig(a, "", hcl.InitialPos)
	y, _ := hclsyntax.LexConfig(b, "", hcl.InitialPos)
	x, y = withoutLastLines(x), withoutLastLines(y)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].Type != y[i].Type || !bytes.Equal(bytes.TrimRight(x[i].Bytes, "\r\n"), bytes.TrimRight(y[i].Bytes, "\r\n")) {
			return false
		}
	}
	return true
}

// withoutLastLines leaves out the line breaks at the end.
func withoutLastLines(tokens hclsyntax.Tokens) hclsyntax.Tokens {
	for len(tokens) > 0 {
		last := tokens[len(tokens)-1].Type
		if last != hclsyntax.TokenNewline && last != hclsyntax.TokenEOF {
			break
		}
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}
