package plainjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Mismatch is JSON that has something else in a place than what is expected there.
type Mismatch struct {
	// Path is the member, as in queued[2].count; empty: the whole.
	Path string
	// Expected and Came are in words.
	Expected, Came string
}

func (e *Mismatch) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s is expected, and it is %s", e.Expected, e.Came)
	}
	return fmt.Sprintf("%s: %s is expected, and it is %s", e.Path, e.Expected, e.Came)
}

// NotJSON is a text that is not valid JSON at all, or more than one value of it.
type NotJSON struct{ Reason string }

func (e *NotJSON) Error() string { return e.Reason }

// Read decodes one value into what into points to, as json.Unmarshal does. The error is
// a *NotJSON, a *Mismatch, or what a type's own UnmarshalJSON says.
func Read(content []byte, into any) error {
	if err := json.Unmarshal(content, into); err != nil {
		return Explain(content, into, err)
	}
	return nil
}

// Explain says in plain words why content couldn't be decoded into the type of into:
// err is what encoding/json says of it. Another error stays as it is.
func Explain(content []byte, into any, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var date *time.ParseError
	switch {
	case !json.Valid(content):
		return notJSON(content, err)
	case errors.As(err, &syntax): // a type's own UnmarshalJSON read a text in it
		return err
	case errors.As(err, &kind), errors.As(err, &date), strings.HasPrefix(err.Error(), "Time.UnmarshalJSON"):
		if found := search(content, typeOf(into), ""); found != nil {
			return found
		}
		return &Mismatch{Expected: "another kind of value", Came: came(content, false)}
	}
	return err
}

// notJSON says what a text is that isn't JSON.
func notJSON(content []byte, err error) error {
	trimmed := bytes.TrimSpace(content)
	var syntax *json.SyntaxError
	at := int64(len(content))
	if errors.As(json.Unmarshal(content, new(any)), &syntax) {
		at, err = syntax.Offset, syntax
	}
	place := placeOf(content, at)
	words := ""
	switch {
	case len(trimmed) == 0:
		words = "it is empty, and JSON is expected"
	case trimmed[0] == '<':
		words = "it is a page of HTML or XML, and JSON is expected; does something else answer at this address?"
	case syntax == nil:
		words = fmt.Sprintf("it is not valid JSON (%s)", err)
	case strings.Contains(syntax.Error(), "unexpected end"):
		words = fmt.Sprintf("it ends in the middle of a value, after %d bytes", len(content))
	case strings.Contains(syntax.Error(), "after top-level value"):
		words = fmt.Sprintf("something follows the end of its JSON, at %s", place)
	case strings.Contains(syntax.Error(), "max depth"):
		words = fmt.Sprintf("it is nested too deeply, at %s", place)
	default:
		words = fmt.Sprintf("it is not valid JSON: something else is expected at %s%s", place, sign(content, at))
	}
	return &NotJSON{words}
}

// placeOf is where the byte before an offset is, as an editor counts.
func placeOf(content []byte, offset int64) string {
	before := content[:max(0, min(offset, int64(len(content)))-1)]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// sign is the character there, which is none of a secret.
func sign(content []byte, offset int64) string {
	if offset < 1 || offset > int64(len(content)) {
		return ""
	}
	c, _ := utf8.DecodeRune(content[offset-1:])
	if c == utf8.RuneError || !unicode.IsPrint(c) {
		return ", and a character is there that can't be shown"
	}
	return fmt.Sprintf(", and %q is there", c)
}
