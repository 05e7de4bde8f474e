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
	// Hidden stands where a secret was.
	Hidden = "(hidden)"
	// ShortestHidden is the length in bytes from which a value is hidden: shorter
	// ones are found in ordinary words, and hiding those would give them away.
	ShortestHidden = 6
)

// Hider takes known secrets out of text that others wrote: as they are, and as
// JSON, URLs, HTML, quotes, hexadecimal and base64 show them. A secret of several
// lines is found line by line, too. What was cut, encrypted or written otherwise
// isn't found. The zero value knows none; it may be used from anywhere.
type Hider struct {
	mutex    sync.RWMutex
	forms    []string
	replacer *strings.Replacer // nil: nothing is hidden
}

// Add makes further values known, and says how many of them are too short.
func (h *Hider) Add(values ...string) (tooShort int) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, value := range values {
		if len(strings.TrimSpace(value)) < ShortestHidden {
			tooShort++
			continue
		}
		h.forms = append(h.forms, formsOf(value)...)
	}
	// The longest first, lest a part of a form be hidden and its rest stay.
	slices.SortFunc(h.forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	h.forms = slices.Compact(h.forms)
	if len(h.forms) == 0 {
		return tooShort
	}
	pairs := make([]string, 0, 2*len(h.forms))
	for _, form := range h.forms {
		pairs = append(pairs, form, Hidden)
	}
	h.replacer = strings.NewReplacer(pairs...)
	return tooShort
}

// Hide gives the text without the known secrets.
func (h *Hider) Hide(text string) string {
	h.mutex.RLock()
	replacer := h.replacer
	h.mutex.RUnlock()
	if replacer == nil {
		return text
	}
	return replacer.Replace(text)
}

// Longest is how many bytes the longest form of a known secret has: so many
// before the place where a text was cut may be the beginning of one.
func (h *Hider) Longest() int {
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
		if len(trimmed) < ShortestHidden {
			continue
		}
		for _, one := range []string{part, trimmed} {
			forms = append(forms, one, quoted(strconv.Quote(one)), quoted(strconv.QuoteToASCII(one)), html.EscapeString(one),
				url.QueryEscape(one), url.PathEscape(one), hex.EncodeToString([]byte(one)), strings.ToUpper(hex.EncodeToString([]byte(one))))
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
