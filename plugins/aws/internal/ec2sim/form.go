package ec2sim

import (
	"fmt"
	"net/url"
	"sort"
	"strconv"
	"strings"
)

// form is a request of the EC2 query protocol: flat names with dots and
// one-based numbers, such as "TagSpecification.1.Tag.2.Key".
type form map[string]string

// longestList bounds how far a list's numbers may go, so that a form of a few
// bytes can't make the simulator count to a billion.
const longestList = 10000

// parseForm reads a body of type application/x-www-form-urlencoded. A name that
// comes twice is refused, as no client of the protocol writes it.
func parseForm(body string) (form, *apiError) {
	values, err := url.ParseQuery(body)
	if err != nil {
		return nil, refuse(400, "MalformedQueryString", "the body is not a form: %v", err)
	}
	parsed := make(form, len(values))
	for name, all := range values {
		if len(all) != 1 {
			return nil, refuse(400, "MalformedQueryString", "the parameter %q is given %d times; give it once", name, len(all))
		}
		parsed[name] = all[0]
	}
	return parsed, nil
}

// at gives what lies under prefix, with the prefix taken off.
func (f form) at(prefix string) form {
	below := form{}
	for name, value := range f {
		if rest, ok := strings.CutPrefix(name, prefix+"."); ok {
			below[rest] = value
		}
	}
	return below
}

// numbers gives in ascending order the numbers that follow name.
func (f form) numbers(name string) []int {
	seen := map[int]bool{}
	for key := range f {
		rest, ok := strings.CutPrefix(key, name+".")
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(rest, ".")
		if number, err := strconv.Atoi(digits); err == nil && number > 0 && number <= longestList {
			seen[number] = true
		}
	}
	numbers := make([]int, 0, len(seen))
	for number := range seen {
		numbers = append(numbers, number)
	}
	sort.Ints(numbers)
	return numbers
}

// texts gives the flat list "name.1", "name.2" and so on.
func (f form) texts(name string) []string {
	var texts []string
	for _, number := range f.numbers(name) {
		if text, ok := f[fmt.Sprintf("%s.%d", name, number)]; ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// structures gives the list of structures "name.1.member" and so on.
func (f form) structures(name string) []form {
	var structures []form
	for _, number := range f.numbers(name) {
		structures = append(structures, f.at(fmt.Sprintf("%s.%d", name, number)))
	}
	return structures
}

// number reads a whole number, or missing where the parameter isn't given.
func (f form) number(name string, missing int) (int, *apiError) {
	text, ok := f[name]
	if !ok {
		return missing, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		return 0, refuse(400, "InvalidParameterValue", "Value (%s) for parameter %s is invalid. Expected a whole number.",
			text, name)
	}
	return number, nil
}

// truth reads true or false, or missing where the parameter isn't given.
func (f form) truth(name string, missing bool) (bool, *apiError) {
	switch f[name] {
	case "":
		return missing, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false,
		refuse(400, "InvalidParameterValue", "Value (%s) for parameter %s is invalid. Expected true or false.", f[name], name)
}

// canonical writes all parameters but the excepted ones in one order, so that
// two requests that ask for the same have the same text.
func (f form) canonical(except ...string) string {
	names := make([]string, 0, len(f))
next:
	for name := range f {
		for _, one := range except {
			if name == one {
				continue next
			}
		}
		names = append(names, name)
	}
	sort.Strings(names)
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "%q=%q\n", name, f[name])
	}
	return text.String()
}
