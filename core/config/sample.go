package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
)

// example is a block at the top with everything that can stand in it, from the
// example tags of its struct; and a second one where its name has a second
// example, for what excludes something in the first. All of them together are one
// file that loads: docs/samples/every-attribute.hcl.
func (n *nestedBlock) example() string {
	var text strings.Builder
	n.writeSample(&text, 0)
	if len(n.labels) > 0 && n.labels[len(n.labels)-1].examples[0] != n.labels[len(n.labels)-1].examples[1] {
		text.WriteString("\n")
		n.writeSample(&text, 1)
	}
	return string(hclwrite.Format([]byte(text.String())))
}

// writeSample writes the first or the second sample of a block, unless that would
// be empty.
func (n *nestedBlock) writeSample(out *strings.Builder, which int) {
	var body strings.Builder
	for _, one := range n.attributes {
		if text := one.sampleValue(which); text != "" {
			fmt.Fprintf(&body, "%s = %s\n", one.name, text)
		}
	}
	if n.body == EntryBody {
		entry := body.String()
		body.Reset()
		fmt.Fprintf(&body, "%s = {\n%s}\n", n.labels[0].examples[which], entry)
	}
	first, second, _ := strings.Cut(n.text, "|")
	if text := [2]string{first, second}[which]; text != "" {
		fmt.Fprintln(&body, text)
	}
	for _, nested := range n.blocks {
		var inner strings.Builder
		nested.writeSample(&inner, which)
		if inner.Len() > 0 && body.Len() > 0 {
			body.WriteString("\n")
		}
		body.WriteString(inner.String())
	}
	if body.Len() == 0 {
		return
	}
	out.WriteString(n.name)
	if n.body != EntryBody {
		for _, label := range n.labels {
			fmt.Fprintf(out, " %q", label.examples[which])
		}
	}
	fmt.Fprintf(out, " {\n%s}\n", body.String())
}

// sampleValue is the value in the first or second sample as HCL; empty: none.
func (a *attribute) sampleValue(which int) string {
	text := a.examples[which]
	if text == "" || !a.typ.isText() {
		return text
	}
	return quoted(text)
}
