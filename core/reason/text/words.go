package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Plural is "1 instance", "2 instances". The noun takes an s.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Are is "is" for one and "are" for any other number.
func Are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// List is the words as they stand in a sentence: "a", "a and b", "a, b and c".
func List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// longestQuote is how many bytes of a word from elsewhere are shown.
const longestQuote = 60

// Quote is a word from elsewhere in quotes, cut where it is long.
func Quote(word string) string {
	if len(word) > longestQuote {
		end := longestQuote
		for end > 0 && !utf8.RuneStart(word[end]) {
			end--
		}
		word = word[:end]
	}
	return fmt.Sprintf("%q", word)
}

// Comment is what a person gave as the reason, in brackets after a space; "" where
// they gave none.
func Comment(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// Capital begins a text with a capital letter, where it begins with a letter of ASCII.
func Capital(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}

// Clause is a text from elsewhere without its final full stop, to go on after it.
func Clause(text string) string { return strings.TrimSuffix(strings.TrimSpace(text), ".") }
