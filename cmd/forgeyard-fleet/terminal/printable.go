package terminal

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable writes the characters that steer a terminal as Go quotes them.
func Printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	controls := func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }
	if !strings.ContainsFunc(text, controls) {
		return text
	}
	var plain strings.Builder
	for _, r := range text {
		if controls(r) {
			plain.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			plain.WriteRune(r)
		}
	}
	return plain.String()
}
