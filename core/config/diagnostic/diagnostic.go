package diagnostic

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Diagnostic is one error or warning about a fleet file. It carries its own
// snippet, so that it can be shown where the files aren't.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	// Summary is what is wrong, in one line.
	Summary string `json:"summary"`
	// Detail is what was expected and what to do.
	Detail string `json:"detail,omitempty"`
	// Block is the block it is in, such as `fleet "linux"`; empty: none.
	Block string `json:"block,omitempty"`
	// Range is where. An empty File: nowhere in particular.
	Range   Range   `json:"range"`
	Snippet Snippet `json:"snippet"`
}

// Severity is how bad a diagnostic is.
type Severity string

// The severities. Only an error stops a plan.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Range is a part of a file; lines and columns count from 1, and the end is
// exclusive.
type Range struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
	EndColumn int    `json:"end_column,omitempty"`
}

// Snippet is the first line of a range: what the diagnostic is about, and what
// stands to the left and right of it.
type Snippet struct {
	Before string `json:"before,omitempty"`
	Marked string `json:"marked,omitempty"`
	After  string `json:"after,omitempty"`
}

// List are sorted by file, line and column.
type List []Diagnostic

// HasErrors says whether there is more than warnings.
func (d List) HasErrors() bool {
	return slices.ContainsFunc(d, func(one Diagnostic) bool { return one.Severity == Error })
}

// Error makes Diagnostics usable as an error value; Render is for people.
func (d List) Error() string {
	var lines []string
	for _, one := range d {
		if one.Severity == Error {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", one.Range, one.Summary, one.Detail))
		}
	}
	return strings.Join(lines, "\n")
}

func (r Range) String() string {
	if r.File == "" {
		return "fleet files"
	}
	return fmt.Sprintf("%s:%d:%d", r.File, r.Line, r.Column)
}

// maxDiagnostics bounds what one load reports: more than anybody reads, and a
// file of rubbish must not cost memory for each of its lines.
const maxDiagnostics = 500

// Collector gathers the diagnostics of all files.
type Collector struct {
	texts   map[string][]byte
	list    List
	seen    map[Diagnostic]bool
	dropped int
	// droppedError says that one of the dropped ones was an error.
	droppedError bool
	// topics are what once was asked for.
	topics map[string]bool
}

func NewCollector() *Collector {
	return &Collector{texts: map[string][]byte{}, seen: map[Diagnostic]bool{}, topics: map[string]bool{}}
}

// SameTexts is an empty collector for diagnostics of the same texts.
func (c *Collector) SameTexts() *Collector {
	other := NewCollector()
	other.texts = c.texts
	return other
}

// AddText makes the lines of a text known, which snippets are taken from.
func (c *Collector) AddText(name string, text []byte) { c.texts[name] = text }

// HideText shows no line of a text, neither in what was reported before nor in what is
// reported afterwards.
func (c *Collector) HideText(name string) {
	delete(c.texts, name)
	for i := range c.list {
		if c.list[i].Range.File == name {
			c.list[i].Snippet = Snippet{}
		}
	}
}

// Once says whether it is called for the first time for a topic: for what is reported
// only once however often it occurs.
func (c *Collector) Once(topic string) bool {
	first := !c.topics[topic]
	c.topics[topic] = true
	return first
}

// Count is how many diagnostics there are.
func (c *Collector) Count() int { return len(c.list) + c.dropped }

func (c *Collector) HasErrors() bool { return c.list.HasErrors() || c.droppedError }

// Full says whether another diagnostic would not be shown, and counts it as an error if
// so: to be asked where a message costs much.
func (c *Collector) Full() bool {
	if len(c.list) < maxDiagnostics {
		return false
	}
	c.dropped++
	c.droppedError = true
	return true
}

func (c *Collector) Fail(at hcl.Range, block, summary, detail string) {
	c.Add(Error, at, block, summary, detail)
}

func (c *Collector) Warn(at hcl.Range, block, summary, detail string) {
	c.Add(Warning, at, block, summary, detail)
}

// FailHidden marks a name and shows nothing of what stands beside it, but what
// to show instead: the line holds a secret.
func (c *Collector) FailHidden(at hcl.Range, instead, block, summary, detail string) {
	one := c.diagnostic(Error, at, block, summary, detail)
	one.Snippet = Snippet{
		Before: strings.Repeat(" ", min(at.Start.Column-1, maxSnippet)),
		Marked: one.Snippet.Marked,
		After:  instead,
	}
	c.keep(one)
}

func (c *Collector) Add(severity Severity, at hcl.Range, block, summary, detail string) {
	if len(c.list) >= maxDiagnostics {
		c.dropped++
		c.droppedError = c.droppedError || severity == Error
		return
	}
	c.keep(c.diagnostic(severity, at, block, summary, detail))
}

func (c *Collector) diagnostic(severity Severity, at hcl.Range, block, summary, detail string) Diagnostic {
	return Diagnostic{
		Severity: severity, Summary: summary, Detail: detail, Block: block,
		Range: Range{
			File: at.Filename, Line: at.Start.Line, Column: at.Start.Column,
			EndLine: at.End.Line, EndColumn: at.End.Column,
		},
		Snippet: snippetOf(c.texts[at.Filename], at),
	}
}

func (c *Collector) keep(one Diagnostic) {
	if c.seen[one] {
		return
	}
	if len(c.list) >= maxDiagnostics {
		c.dropped++
		c.droppedError = c.droppedError || one.Severity == Error
		return
	}
	c.seen[one] = true
	c.list = append(c.list, one)
}

// AddParser takes over what the HCL parser or an expression complains about.
func (c *Collector) AddParser(found hcl.Diagnostics, block string) {
	open := false
	for _, one := range found {
		// A missing quote makes a complaint for each line up to the next quote.
		if one.Summary == "Invalid multi-line string" || one.Summary == "Unterminated template string" {
			if open {
				continue
			}
			open = true
			one.Summary = "A quoted text doesn't end on its line"
			one.Detail = "Add the closing quote. A text of several lines is written <<EOT, the lines, and EOT on a line " +
				"of its own."
		}
		at := hcl.Range{}
		if one.Subject != nil {
			at = *one.Subject
		}
		severity := Error
		if one.Severity == hcl.DiagWarning {
			severity = Warning
		}
		c.Add(severity, at, block, strings.TrimSuffix(one.Summary, "."), one.Detail)
	}
}

// Sorted ends the collection.
func (c *Collector) Sorted() List {
	list := slices.Clone(c.list)
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		return cmp.Or(
			strings.Compare(a.Range.File, b.Range.File),
			cmp.Compare(a.Range.Line, b.Range.Line),
			cmp.Compare(a.Range.Column, b.Range.Column),
			strings.Compare(a.Summary, b.Summary),
		)
	})
	if c.dropped > 0 {
		severity := Warning
		if c.droppedError {
			severity = Error
		}
		list = append(list, Diagnostic{
			Severity: severity,
			Summary:  fmt.Sprintf("%d more errors and warnings", c.dropped),
			Detail:   "Fix the ones above and validate again.",
		})
	}
	return list
}

// maxSnippet is how many bytes a part of a snippet may have: a file can be one
// line of megabytes.
const maxSnippet = 120

func snippetOf(text []byte, at hcl.Range) Snippet {
	start, end := at.Start.Byte, at.End.Byte
	if at.Filename == "" || start < 0 || start > len(text) || end < start {
		return Snippet{}
	}
	lineStart := bytes.LastIndexByte(text[:start], '\n') + 1
	lineEnd := len(text)
	if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
		lineEnd = start + i
	}
	end = min(end, lineEnd)
	return Snippet{
		Before: keepEnd(text[lineStart:start]),
		Marked: keepStart(text[start:end]),
		After:  strings.TrimRight(keepStart(text[end:lineEnd]), "\r"),
	}
}

// TakeOver adds what another collector has found.
func (c *Collector) TakeOver(other *Collector) {
	for _, one := range other.list {
		c.keep(one)
	}
	c.dropped += other.dropped
	c.droppedError = c.droppedError || other.droppedError
}
