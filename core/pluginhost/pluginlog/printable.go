package pluginlog

import (
	"fmt"
	"strings"
	"unicode"
)

// Printable keeps a plugin's text from steering the terminal that shows it.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return ' '
		}
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return '�'
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}

// Truncate cuts a text after so many bytes and says how many it had.
func Truncate(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:size], ""), len(text))
}
