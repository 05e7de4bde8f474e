package diagnostic

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Render writes the diagnostics for a person: what is wrong, file:line:column,
// the line with the part in question marked, and what to do.
func (d List) Render(w io.Writer, color bool) error {
	var out strings.Builder
	for i, one := range d {
		if i > 0 {
			out.WriteByte('\n')
		}
		one.render(&out, color)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Terminal sequences; empty strings where there is no colour.
type palette struct{ red, yellow, bold, off string }

func (one Diagnostic) render(out *strings.Builder, color bool) {
	var paint palette
	if color {
		paint = palette{red: "\x1b[1;31m", yellow: "\x1b[1;33m", bold: "\x1b[1m", off: "\x1b[0m"}
	}
	label, tint := "Error", paint.red
	if one.Severity == Warning {
		label, tint = "Warning", paint.yellow
	}
	fmt.Fprintf(out, "%s%s:%s %s%s%s\n", tint, label, paint.off, paint.bold, printable(one.Summary), paint.off)

	if one.Range.File != "" {
		in := ""
		if one.Block != "" {
			in = ", in " + printable(one.Block)
		}
		fmt.Fprintf(out, "\n  on %s%s:\n", printable(one.Range.String()), in)
		one.renderSnippet(out, tint, paint.off)
	}
	if one.Detail != "" {
		out.WriteByte('\n')
		for line := range strings.Lines(one.Detail) {
			fmt.Fprintf(out, "  %s\n", printable(strings.TrimRight(line, "\n")))
		}
	}
}

func (one Diagnostic) renderSnippet(out *strings.Builder, tint, off string) {
	number := fmt.Sprintf("%5d", one.Range.Line)
	snippet := Snippet{
		Before: printable(one.Snippet.Before),
		Marked: printable(one.Snippet.Marked),
		After:  printable(one.Snippet.After),
	}
	fmt.Fprintf(out, "%s | %s%s%s%s%s\n", number, snippet.Before, tint, snippet.Marked, off, snippet.After)
	// Tabs are kept so that the mark stands below its text at any tab width.
	indent := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, snippet.Before)
	marks := max(1, len([]rune(snippet.Marked)))
	fmt.Fprintf(out, "%s | %s%s%s%s\n", strings.Repeat(" ", len(number)), indent, tint, strings.Repeat("^", marks), off)
}

// printable replaces what would steer a terminal: file text and a plugin's
// words are not ours.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) {
			return r
		}
		return '�'
	}, text)
}
