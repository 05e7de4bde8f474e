package render

import (
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/access"
)

// Tokens is a table of API tokens.
func (page Page) Tokens(tokens []access.Token) {
	if len(tokens) == 0 {
		page.Printf("No API tokens.\n")
		return
	}
	page.table([]string{"NAME", "ID", "PERMISSIONS", "FLEETS", "UNTIL", "BY"}, len(tokens), func(n int) []any {
		t := tokens[n]
		fleets := "all"
		if len(t.Fleets) > 0 {
			fleets = JoinWords(t.Fleets)
		}
		until := "deleted"
		switch {
		case !t.Revoked.IsZero():
		case t.Expires.IsZero():
			until = "no expiry"
		default:
			until = Moment(t.Expires)
		}
		return []any{t.Name, t.ID, JoinWords(t.Permissions), fleets, until, t.By}
	})
}

// joinWords joins words of any kind with commas.
func JoinWords[T ~string](words []T) string {
	var text []string
	for _, w := range words {
		text = append(text, string(w))
	}
	slices.Sort(text)
	return strings.Join(text, ",")
}
