package text

import (
	"regexp"
	"strings"
)

// plainWord is what a shell takes as it stands.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Command is a command line for a POSIX shell, each word quoted where it has to be.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for n, word := range words {
		quoted[n] = ShellQuote(word)
	}
	return strings.Join(quoted, " ")
}

// ShellQuote is a word that a POSIX shell takes for exactly that.
func ShellQuote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
