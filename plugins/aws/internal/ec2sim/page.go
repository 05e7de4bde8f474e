package ec2sim

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// numbered is a thing that lists show in the order in which it came to be.
type numbered interface{ sequence() int }

// show gives what a list shows of all to this request: filtered, and a page of
// it. The sizes of a page are the operation's own.
func show[T numbered](s *Simulator, action string, request form, all []T, known attributes[T],
	tagsOf func(T) map[string]string, smallest, largest int) ([]T, string, *apiError) {
	kept, refusal := filtered(request, all, known, tagsOf)
	if refusal != nil {
		return nil, "", refusal
	}
	return page(s, action, request, kept, smallest, largest)
}

// page takes from all, which are in the order of their numbers, those that this
// request shows, and the token of the next request, or none at the end.
//
// A token says after which number to continue, not how many to skip: what appears
// or goes between two pages neither hides another entry nor shows it twice.
func page[T numbered](
	s *Simulator, action string, request form, all []T, smallest, largest int,
) ([]T, string, *apiError) {
	size, refusal := pageSize(request, smallest, largest)
	if refusal != nil {
		return nil, "", refusal
	}
	if s.options.LargestPage > 0 && s.options.LargestPage < size {
		size = s.options.LargestPage
	}
	after, refusal := readToken(action, request)
	if refusal != nil {
		return nil, "", refusal
	}
	var shown []T
	for _, one := range all {
		if one.sequence() <= after {
			continue
		}
		if len(shown) == size {
			return shown, writeToken(action, shown[size-1].sequence()), nil
		}
		shown = append(shown, one)
	}
	return shown, "", nil
}

func pageSize(request form, smallest, largest int) (int, *apiError) {
	size, refusal := request.number("MaxResults", largest)
	if refusal != nil {
		return 0, refusal
	}
	if size < smallest || size > largest {
		return 0, refuse(400, "InvalidParameterValue",
			"Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", size, smallest, largest)
	}
	return size, nil
}

func writeToken(action string, after int) string {
	return base64.URLEncoding.EncodeToString(fmt.Appendf(nil, "%s/%d", action, after))
}

func readToken(action string, request form) (int, *apiError) {
	token, ok := request["NextToken"]
	if !ok || token == "" {
		return 0, nil
	}
	text, err := base64.URLEncoding.DecodeString(token)
	if err == nil {
		if digits, ok := strings.CutPrefix(string(text), action+"/"); ok {
			if after, err := strconv.Atoi(digits); err == nil && after >= 0 {
				return after, nil
			}
		}
	}
	return 0, refuse(400, "InvalidNextToken", "The token '%s' is invalid: it is none that %s gave.", token, action)
}
