package ec2sim

import "strings"

// attributes gives for the name of a filter what a thing has there.
type attributes[T any] map[string]func(T) []string

// filtered keeps those of all that every filter of the request lets through. A
// filter that the operation doesn't have is refused, never ignored: an ignored
// filter would show other people's machines.
func filtered[T any](request form, all []T, known attributes[T], tagsOf func(T) map[string]string) ([]T, *apiError) {
	filters := request.structures("Filter")
	kept := all
	for _, filter := range filters {
		name, values := filter["Name"], filter.texts("Value")
		read, ok := known[name]
		if !ok && tagsOf != nil {
			read, ok = tagFilter(name, tagsOf)
		}
		if !ok {
			return nil, refuse(400, "InvalidParameterValue", "The filter '%s' is invalid", name)
		}
		if len(values) == 0 {
			return nil, refuse(400, "InvalidParameterValue", "The filter '%s' has no value", name)
		}
		var still []T
		for _, one := range kept {
			if anyMatches(values, read(one)) {
				still = append(still, one)
			}
		}
		kept = still
	}
	return kept, nil
}

func tagFilter[T any](name string, tagsOf func(T) map[string]string) (func(T) []string, bool) {
	if key, ok := strings.CutPrefix(name, "tag:"); ok {
		return func(one T) []string {
			if value, ok := tagsOf(one)[key]; ok {
				return []string{value}
			}
			return nil
		}, true
	}
	if name == "tag-key" {
		return func(one T) []string {
			var keys []string
			for key := range tagsOf(one) {
				keys = append(keys, key)
			}
			return keys
		}, true
	}
	return nil, false
}

func anyMatches(patterns, texts []string) bool {
	for _, pattern := range patterns {
		for _, text := range texts {
			if matches(pattern, text) {
				return true
			}
		}
	}
	return false
}

// matches compares as the API does: * is any text, ? one character, a backslash
// takes the next character as it is.
func matches(pattern, text string) bool {
	// next and retry remember the last star, so that the time stays bounded by
	// the product of the lengths.
	position, at := 0, 0
	star, retry := -1, 0
	for at < len(text) {
		literal, width := byte(0), 0
		if position < len(pattern) {
			literal, width = pattern[position], 1
			if literal == '\\' && position+1 < len(pattern) {
				literal, width = pattern[position+1], 2
			}
		}
		switch {
		case width == 1 && literal == '*':
			star, retry = position, at
			position++
		case width > 0 && (literal == text[at] || width == 1 && literal == '?'):
			position, at = position+width, at+1
		case star >= 0:
			retry++
			position, at = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[position:], "*") == ""
}
