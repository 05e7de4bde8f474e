package plainjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

var (
	timeType        = reflect.TypeFor[time.Time]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textType        = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// typeOf is what a pointer points to.
func typeOf(into any) reflect.Type {
	t := reflect.TypeOf(into)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// search finds the first value that doesn't fit its type, in the order of the text. It
// decodes each part again, a cost that only an error has.
func search(content []byte, t reflect.Type, path string) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() == reflect.Interface || fits(content, t) == nil {
		return nil
	}
	if found := searchBelow(bytes.TrimSpace(content), t, path); found != nil {
		return found
	}
	if expected, quotes := expectation(t); expected != "" {
		return &Mismatch{Path: short(path), Expected: expected, Came: came(content, quotes)}
	}
	// A type that reads itself has words of its own for what it doesn't take.
	err := fits(content, t)
	if path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", short(path), err)
}

func fits(content []byte, t reflect.Type) error {
	return json.Unmarshal(content, reflect.New(t).Interface())
}

// searchBelow looks into the members of an object or the entries of a list.
func searchBelow(content []byte, t reflect.Type, path string) error {
	switch {
	case t == timeType || len(content) == 0:
		return nil
	case content[0] == '[' && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		var entries []json.RawMessage
		if json.Unmarshal(content, &entries) != nil {
			return nil
		}
		for n, entry := range entries {
			if found := search(entry, t.Elem(), fmt.Sprintf("%s[%d]", path, n)); found != nil {
				return found
			}
		}
	case content[0] == '{' && t.Kind() == reflect.Map:
		return members(content, func(name string, value json.RawMessage) error {
			return search(value, t.Elem(), fmt.Sprintf("%s[%q]", path, name))
		})
	case content[0] == '{' && t.Kind() == reflect.Struct:
		fields := fieldsOf(t)
		return members(content, func(name string, value json.RawMessage) error {
			for _, f := range fields {
				if strings.EqualFold(f.name, name) {
					return search(value, f.kind, strings.TrimPrefix(path+"."+f.name, "."))
				}
			}
			return nil
		})
	}
	return nil
}

// members calls look for each member of an object, in the order of the text, until it
// finds something.
func members(content []byte, look func(string, json.RawMessage) error) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	if _, err := decoder.Token(); err != nil { // the brace
		return nil
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return nil
		}
		if text, isText := name.(string); isText {
			if found := look(text, value); found != nil {
				return found
			}
		}
	}
	return nil
}

type field struct {
	name string
	kind reflect.Type
}

// fieldsOf are the members of a struct as encoding/json names them.
func fieldsOf(t reflect.Type) (all []field) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() || f.Anonymous && name == "":
		case name == "":
			all = append(all, field{f.Name, f.Type})
		default:
			all = append(all, field{name, f.Type})
		}
	}
	return all
}

// expectation is what a type takes, in words, and whether what came instead may be
// shown: where a text may be, a secret may be. Without words the type reads itself.
func expectation(t reflect.Type) (words string, quotes bool) {
	if t == timeType {
		return "a time such as 2027-01-10T08:00:00Z", true
	}
	own := reflect.PointerTo(t)
	if own.Implements(unmarshalerType) && t.Kind() != reflect.Struct && t.Kind() != reflect.Slice &&
		t.Kind() != reflect.Map {
		return "", false
	}
	if own.Implements(textType) {
		return "a text", false
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false", true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if t.Bits() == 64 {
			return "a whole number", true
		}
		most := int64(1)<<(t.Bits()-1) - 1
		return fmt.Sprintf("a whole number from %d to %d", -most-1, most), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if t.Bits() == 64 {
			return "a whole number that isn't negative", true
		}
		return fmt.Sprintf("a whole number from 0 to %d", ^uint64(0)>>(64-t.Bits())), true
	case reflect.Float32, reflect.Float64:
		return "a number", true
	case reflect.String:
		return "a text", false
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a text in base64", false
		}
		return "a list", false
	case reflect.Map, reflect.Struct:
		return "an object", false
	}
	return "", false
}

// came is a value in words, with the value itself where it may be shown.
func came(content []byte, quotes bool) string {
	content = bytes.TrimSpace(content)
	if len(content) == 0 {
		return "nothing"
	}
	word := "a number"
	switch content[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 'n':
		return "null"
	case 't', 'f':
		return string(content)
	case '"':
		word = "a text"
		if len(content) == 2 {
			return "an empty text"
		}
	}
	if !quotes {
		return word
	}
	return strings.Replace(word, "a ", "the ", 1) + " " + shown(content)
}

// shown is a number or a text that a person may read, on one line.
func shown(content []byte) string {
	var text string
	value := string(content)
	if json.Unmarshal(content, &text) == nil {
		value = strconv.Quote(text)
	}
	runes := []rune(value)
	if len(runes) > 40 {
		runes = append(runes[:40], '…')
	}
	return string(slices.DeleteFunc(runes, func(c rune) bool { return !unicode.IsPrint(c) }))
}

// short bounds a path, which an untrusted client may have named.
func short(path string) string {
	if runes := []rune(path); len(runes) > 120 {
		return string(runes[:120]) + "…"
	}
	return path
}
