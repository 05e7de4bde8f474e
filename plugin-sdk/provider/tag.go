package provider

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// tag is what the tags of one struct field say:
//
//	`fleet:"name,required,immutable,sensitive" doc:"…" default:"…" deprecated:"…"`
//	`fleet:"name,block,required" doc:"…"`
type tag struct {
	name        string
	required    bool
	immutable   bool // a change replaces instances
	sensitive   bool // never shown, never logged
	block       bool
	doc         string // one Markdown paragraph
	deprecated  string // what to use instead
	hasDefault  bool
	defaultText string
}

var attributeNamePattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func parseTag(field reflect.StructField) (tag, error) {
	text, tagged := field.Tag.Lookup("fleet")
	if !tagged {
		return tag{}, errors.New(`no fleet tag; add fleet:"name", or fleet:"-" to leave the field out`)
	}
	name, options, _ := strings.Cut(text, ",")
	parsed := tag{name: name, doc: field.Tag.Get("doc"), deprecated: field.Tag.Get("deprecated")}
	parsed.defaultText, parsed.hasDefault = field.Tag.Lookup("default")
	if !attributeNamePattern.MatchString(name) {
		return tag{}, fmt.Errorf("name %q must be lower-case letters, digits and underscores", name)
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
			if options != "" {
				return tag{}, errors.New("an option is empty")
			}
		case "required":
			parsed.required = true
		case "immutable":
			parsed.immutable = true
		case "sensitive":
			parsed.sensitive = true
		case "block":
			parsed.block = true
		default:
			return tag{}, fmt.Errorf("option %q is unknown; there are required, immutable, sensitive and block", option)
		}
	}
	switch {
	case parsed.required && parsed.hasDefault:
		return tag{}, errors.New("what is required can't have a default")
	case parsed.block && parsed.hasDefault:
		return tag{}, errors.New("a block can't have a default; give its attributes defaults")
	case parsed.block && (parsed.immutable || parsed.sensitive):
		return tag{}, errors.New("immutable and sensitive belong to the block's attributes")
	case parsed.sensitive && parsed.hasDefault:
		return tag{}, errors.New("a secret can't have a default")
	}
	return parsed, nil
}
