package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

const manyLines = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqh/+kiG9w\nqwertz \"quoted\" <tail>&\n-----END KEY-----"

func TestASecretIsHiddenInEveryFormThatProgramsPrint(t *testing.T) {
	for _, value := range []string{planted, "sechs6", "pä\"<&>/+ ss\\wörd\t☃", manyLines} {
		plain, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var unescaped strings.Builder
		encoder := json.NewEncoder(&unescaped)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			t.Fatal(err)
		}
		forms := map[string]string{
			"itself":                    value,
			"JSON":                      string(plain),
			"JSON without HTML escapes": unescaped.String(),
			"%q":                        fmt.Sprintf("%q", value),
			"%+q":                       fmt.Sprintf("%+q", value),
			"HTML":                      html.EscapeString(value),
			"a query": url.QueryEscape(
				value,
			),
			"a path": url.PathEscape(value),
			"hex":    fmt.Sprintf("%x", value),
			"HEX":    fmt.Sprintf("%X", value),
		}
		for _, user := range []string{"", "u", "us", "use"} {
			forms["base64 after "+user] = base64.StdEncoding.EncodeToString([]byte(user + value))
			forms["base64 for URLs after "+user] = base64.URLEncoding.EncodeToString([]byte(user + value + ":more"))
		}
		var h secret.Redactor
		if short := h.Add(value, "another-one"); short != 0 {
			t.Errorf("%d values are called too short", short)
		}
		for name, form := range forms {
			got := h.Redact("before " + form + " after")
			if !strings.Contains(got, secret.Redacted) || !strings.HasPrefix(got, "before ") ||
				!strings.HasSuffix(got, " after") {
				t.Errorf("%s of %q became %q", name, value, got)
			}
			// Of base64, four digits at either end may depend on what is around.
			if left := len(got) - len("before  after") - len(secret.Redacted); strings.HasPrefix(name, "base64") && left > 14 {
				t.Errorf("%s of %q became %q", name, value, got)
			}
			if strings.Contains(got, value) || strings.Contains(got, hex.EncodeToString([]byte(value))) {
				t.Errorf("%s of %q is still there: %q", name, value, got)
			}
		}
	}
}

func TestASecretOfSeveralLinesIsHiddenLineByLine(t *testing.T) {
	var h secret.Redactor
	h.Add(manyLines)
	for line := range strings.Lines(manyLines) {
		if got := h.Redact("2026: " + strings.TrimSpace(line)); got != "2026: "+secret.Redacted {
			t.Errorf("%q became %q", line, got)
		}
	}
}

func TestTheLongerOfTwoSecretsIsHiddenWhole(t *testing.T) {
	var h secret.Redactor
	h.Add("token-of-a")
	h.Add("token-of-a-and-more")
	if got := h.Redact("x token-of-a-and-more y token-of-a z"); got != "x (hidden) y (hidden) z" {
		t.Errorf("got %q", got)
	}
}

// The earliest match alone was taken, and the end of the other secret stayed.
func TestOverlappingSecretsAreHiddenWhole(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"the end of one begins another", "x abcdefghijklmnop y", "x (hidden) y"},
		{"one within another", "x mnopqrstuvwx y", "x (hidden) y"},
		{"one after another", "abcdefghabcdefgh", "(hidden)(hidden)"},
		{"one over itself", "-zzzzzzzz-", "-(hidden)-"},
		{"a chain of three", "abcdefghijklmnopqrstuvwx!", "(hidden)!"},
	} {
		var h secret.Redactor
		h.Add("abcdefgh", "ghijklmnop", "zzzzzz")
		h.Add("mnopqrstuvwx", "opqrst")
		if got := h.Redact(test.text); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// A value of few letters is part of ordinary words, which would show by their
// gaps what it is.
func TestAValueThatIsTooShortIsCountedAndNotHidden(t *testing.T) {
	var h secret.Redactor
	if short := h.Add("", "abcde", "     abc     ", "abcdef"); short != 3 {
		t.Errorf("%d values are too short, want 3", short)
	}
	if got := h.Redact("abcde abcdef abc"); got != "abcde (hidden) abc" {
		t.Errorf("got %q", got)
	}
}

func TestAHiderThatKnowsNothingChangesNothing(t *testing.T) {
	var h secret.Redactor
	if got := h.Redact("text"); got != "text" || h.Longest() != 0 {
		t.Errorf("got %q, %d", got, h.Longest())
	}
	h.Add("text")
	if got := h.Redact("text"); got != "text" || h.Longest() != 0 {
		t.Errorf("got %q, %d", got, h.Longest())
	}
}

func FuzzHide(f *testing.F) {
	f.Add(planted, "a ", " b")
	f.Add(manyLines, "", "\n")
	f.Fuzz(func(t *testing.T, value, before, after string) {
		var h secret.Redactor
		h.Add(value)
		trimmed := strings.TrimSpace(value)
		if len(trimmed) < secret.ShortestRedacted || strings.Contains(secret.Redacted, trimmed) ||
			strings.Contains(before+after, trimmed) {
			return
		}
		if got := h.Redact(before + value + after); len(value) > 2*len(secret.Redacted) && strings.Contains(got, value) {
			t.Fatalf("%q is in %q", value, got)
		}
	})
}
