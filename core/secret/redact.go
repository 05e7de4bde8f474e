package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	// Redacted stands where a secret was.
	Redacted = "(hidden)"
	// ShortestRedacted is the length in bytes from which a value is hidden: shorter
	// ones are found in ordinary words, and hiding those would give them away.
	ShortestRedacted = 6
)

// Redactor removes known secrets from text that others wrote: as they are, and as
// JSON, URLs, HTML, quotes, hexadecimal and base64 show them. A secret of several
// lines is found line by line, too. What was cut, encrypted or written otherwise
// isn't found. The zero value knows none; it may be used from anywhere.
type Redactor struct {
	mutex sync.RWMutex
	forms []string // the longest first; never changed once it is here
}

// Add makes further values known, and says how many of them are too short.
func (h *Redactor) Add(values ...string) (tooShort int) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	var fresh []string
	for _, value := range values {
		if len(strings.TrimSpace(value)) < ShortestRedacted {
			tooShort++
			continue
		}
		fresh = append(fresh, value)
	}
	forms := slices.Clone(h.forms) // others may be reading them
	for _, value := range fresh {
		forms = append(forms, formsOf(value)...)
	}
	slices.SortFunc(forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	h.forms = slices.Compact(forms)
	return tooShort
}

// Redact gives the text without the known secrets. Where some overlap, all that
// belongs to any of them is hidden.
func (h *Redactor) Redact(text string) string {
	h.mutex.RLock()
	forms := h.forms
	h.mutex.RUnlock()
	var found []span
	for _, form := range forms {
		for from := 0; ; {
			at := strings.Index(text[from:], form)
			if at < 0 {
				break
			}
			found = append(found, span{from + at, from + at + len(form)})
			from += at + 1 // the next one may begin within this one
		}
	}
	if len(found) == 0 {
		return text
	}
	var hidden strings.Builder
	kept := 0
	for _, one := range union(found) {
		hidden.WriteString(text[kept:one.begin])
		hidden.WriteString(Redacted)
		kept = one.end
	}
	hidden.WriteString(text[kept:])
	return hidden.String()
}

// span is a part of a text, in bytes.
type span struct{ begin, end int }

// union joins spans that overlap, in the order of the text. Neighbours stay two.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end)) })
	joined := spans[:1]
	for _, next := range spans[1:] {
		if last := &joined[len(joined)-1]; next.begin < last.end {
			last.end = max(last.end, next.end)
		} else {
			joined = append(joined, next)
		}
	}
	return joined
}

// Longest is how many bytes the longest form of a known secret has: so many
// before the place where a text was cut may be the beginning of one.
func (h *Redactor) Longest() int {
	h.mutex.RLock()
	defer h.mutex.RUnlock()
	if len(h.forms) == 0 {
		return 0
	}
	return len(h.forms[0])
}

// formsOf are the ways in which a value may be shown.
func formsOf(value string) []string {
	parts := append([]string{value}, strings.Split(value, "\n")...)
	var forms []string
	for _, part := range parts {
		trimmed := strings.TrimSpace(part)
		if len(trimmed) < ShortestRedacted {
			continue
		}
		for _, one := range []string{part, trimmed} {
			forms = append(
				forms,
				one,
				quoted(strconv.Quote(one)),
				quoted(strconv.QuoteToASCII(one)),
				html.EscapeString(one),
				url.QueryEscape(
					one,
				),
				url.PathEscape(one),
				hex.EncodeToString([]byte(one)),
				strings.ToUpper(hex.EncodeToString([]byte(one))),
			)
			forms = append(forms, jsonForms(one)...)
			forms = append(forms, base64Forms(one)...)
		}
	}
	return forms
}

// jsonForms are a value as JSON shows it within quotes, with and without the
// escapes that are for HTML.
func jsonForms(value string) []string {
	var plain strings.Builder
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	escaped, err := json.Marshal(value)
	if err != nil || encoder.Encode(value) != nil {
		return nil // no string fails to be encoded
	}
	return []string{quoted(string(escaped)), quoted(strings.TrimSuffix(plain.String(), "\n"))}
}

// base64Forms are what a value becomes within a longer text that is encoded, such
// as user:token: by where it begins, three of them, without the digits at either
// end that depend on its neighbours.
func base64Forms(value string) []string {
	var forms []string
	for offset := range 3 {
		first := []int{0, 2, 3}[offset]
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString(append(make([]byte, offset), value...))
			if (offset+len(value))%3 != 0 {
				encoded = encoded[:len(encoded)-1]
			}
			forms = append(forms, encoded[first:])
		}
	}
	return forms
}

func quoted(text string) string { return text[1 : len(text)-1] }
