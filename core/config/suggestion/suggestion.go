package suggestion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest is the known name that a misspelt one most likely means; empty: none
// is near enough.
func Nearest(given string, known []string) string {
	if len(given) > 100 {
		return ""
	}
	allowed := 2
	if len(given) > 8 {
		allowed = 3
	}
	if len(given) < 4 {
		allowed = 1
	}
	best, distance := "", allowed+1
	for _, name := range slices.Sorted(slices.Values(known)) {
		d := levenshtein.Distance(strings.ToLower(given), strings.ToLower(name), nil)
		if d < distance {
			best, distance = name, d
		}
	}
	return best
}

// For is a sentence for the end of a detail: the near name, or the list
// of what is valid, which noun names in the plural.
func For(given, noun string, known []string) string {
	if near := Nearest(given, known); near != "" {
		return fmt.Sprintf("Did you mean %q?", near)
	}
	names := slices.Compact(slices.Sorted(slices.Values(known)))
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 12:
		return fmt.Sprintf("%d %s are valid, among them %s.", len(names), noun, Quoted(names[:8]))
	default:
		return fmt.Sprintf("Valid %s: %s.", noun, Quoted(names))
	}
}

func Quoted(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(quoted, ", ")
}
