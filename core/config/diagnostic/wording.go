package diagnostic

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// Clip keeps a user's text from filling a message.
func Clip(text string) string { return keepStart([]byte(text)) }

// Place is a range as file:line:column.
func Place(at hcl.Range) string {
	return fmt.Sprintf("%s:%d:%d", at.Filename, at.Start.Line, at.Start.Column)
}

func Counted(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "one " + noun
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}

// NumberWord is a small number as it stands in a sentence: none, 1, 2.
func NumberWord(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

func keepStart(text []byte) string {
	if len(text) <= maxSnippet {
		return string(text)
	}
	cut := maxSnippet
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return string(text[:cut]) + "…"
}

func keepEnd(text []byte) string {
	if len(text) <= maxSnippet {
		return string(text)
	}
	cut := len(text) - maxSnippet
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	return "…" + string(text[cut:])
}
