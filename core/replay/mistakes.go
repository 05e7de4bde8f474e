package replay

import (
	"fmt"
	"strings"
)

// Mistake is one thing that is wrong with a trace file, and what was expected.
type Mistake struct {
	Line, Column int
	Sentence     string
}

// Mistakes is the error of a trace file that can't be replayed: all that was found
// up to MaxMistakes, in the file's order.
type Mistakes struct {
	File string
	Each []Mistake
	// More says that there is at least one more; the rest of the file wasn't read.
	More bool
}

func (m *Mistakes) Error() string {
	var text strings.Builder
	for n, one := range m.Each {
		if n > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "%s:%d:%d: %s", m.File, one.Line, one.Column, one.Sentence)
	}
	if m.More {
		fmt.Fprintf(&text, "\nThere are more; the first %d are shown.", len(m.Each))
	}
	return text.String()
}
