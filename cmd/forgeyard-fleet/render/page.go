package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"text/tabwriter"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
)

// Page is where a command shows things to people, and the moment that it shows them at.
type Page struct {
	Out io.Writer
	Now func() time.Time
	// Terminal says that Out is one, and Color that it may be coloured.
	Terminal, Color bool
	// Width is how many columns the terminal has; nil: it isn't known.
	Width func() int
	// Dir is the directory that the command was given with --dir; empty: none.
	Dir string
}

// JSON writes one value for programs.
func (page Page) JSON(v any) error {
	e := json.NewEncoder(page.Out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Moment is a time for people. It names its zone, which is that of the times in
// the manager's sentences.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Printf shows text to people, without what steers a terminal: much of it comes
// from agents, providers and files.
func (page Page) Printf(format string, args ...any) {
	fmt.Fprint(page.Out, terminal.Printable(fmt.Sprintf(format, args...)))
}

// table prints rows in aligned columns.
func (page Page) table(header []string, rows int, row func(int) []any) {
	w := tabwriter.NewWriter(page.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for n := range rows {
		cells := row(n)
		text := make([]string, len(cells))
		for c, cell := range cells {
			text[c] = fmt.Sprint(cell)
		}
		fmt.Fprintln(w, strings.Join(text, "\t"))
	}
	// What can't be written to standard output can't be reported there either.
	_ = w.Flush()
}

// ago is how long ago a time was.
func (page Page) ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return max(0, page.Now().Sub(t).Truncate(time.Second)).String()
}

// OrDash is a text, or what stands where there is none.
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
