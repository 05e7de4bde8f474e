package config

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"
	"github.com/hashicorp/go-version"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/planner/schedule"
)

// textForm says what a text is called in messages, and what to write instead;
// empty: it is valid.
type textForm func(text string) (noun, advice string)

// forms are what the tag form names.
var forms = map[string]textForm{
	"name":   matching("name", regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`), nameForm),
	"filled": matching("text", regexp.MustCompile(`(?s).`), "Write a value, or leave it out."),
	"word": matching("word", wordForm,
		"Use one word of lower-case letters, digits and -, such as \"vm\"."),
	"digest": matching("digest", regexp.MustCompile(`^sha256:[0-9a-f]{64}$`),
		"Use \"sha256:\" and 64 hexadecimal digits in lower case: what the image is, not what it is called."),
	"user": matching("user name", regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9._-]{0,63}$`),
		"Use the name of an OS user on the instance, such as \"ci\"."),
	// The installation's name goes into resource tags and the name of the manager's
	// certificate, so it has no underscore.
	"installation": matching(
		"installation name",
		wordForm,
		"Use a lower-case letter, then lower-case letters, digits and -, at most 63 of them: the name becomes part of tags "+
			"and of a certificate's name.",
	),
	"environment": matching(
		"name of an environment variable",
		environmentName,
		"List only the names, such as [\"AWS_PROFILE\"]; the values come from the environment. Names hold letters, "+
			"digits and _.",
	),
	"source": matching(
		"plugin source",
		regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`),
		"Use an OCI repository in full, without a tag: HOST/PATH, such as registry.example/forgeyard/fleet-aws. The "+
			"version goes into version.",
	),
	"version":   versionForm,
	"listen":    listenForm,
	"https":     httpsForm,
	"cron":      cronForm,
	"time zone": timeZoneForm,
}

var (
	wordForm        = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	environmentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// nameForm is what a name of the user's own must look like.
const nameForm = "Names begin with a lower-case letter and hold lower-case letters, digits, - and _, at most " +
	"63 of them."

func matching(noun string, pattern *regexp.Regexp, advice string) textForm {
	return func(text string) (string, string) {
		if pattern.MatchString(text) {
			return noun, ""
		}
		return noun, advice
	}
}

func versionForm(text string) (noun, advice string) {
	if _, err := version.NewConstraint(text); err != nil || strings.TrimSpace(text) == "" {
		advice = "Use a constraint such as \">= 0.1\", \"~> 1.4\" or \">= 1.2, < 2\"."
	}
	return "version constraint", advice
}

func listenForm(text string) (noun, advice string) {
	_, port, err := net.SplitHostPort(text)
	number, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || number == 0 {
		advice = "Use host:port, such as \"0.0.0.0:7443\". Leave it out for 127.0.0.1 and a port that is chosen at the " +
			"first start."
	}
	return "listen address", advice
}

// httpsForm is a URL that agents can reach.
func httpsForm(text string) (noun, advice string) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "https" || parsed.Hostname() == "" || parsed.User != nil || parsed.RawQuery != "" ||
		parsed.Fragment != "" {
		advice = "Use the URL at which agents reach the manager, such as \"https://fleet.acme.example:7443\"."
	}
	return "https URL", advice
}

func timeZoneForm(text string) (noun, advice string) {
	// "Local" would be the manager's own zone, which no reader of the file knows.
	if _, err := time.LoadLocation(text); err != nil || text == "" || text == "Local" {
		advice = "Use a name such as \"Europe/Berlin\" or \"UTC\"."
	}
	return "time zone", advice
}

// cronForm is an expression of five fields that comes up some day. The library also
// knows fields for seconds and years, and names such as @daily; the file has the
// one form that everybody reads.
func cronForm(text string) (noun, advice string) {
	const form = "Use five fields: minute, hour, day of the month, month, day of the week, such as \"0 8 * * 1-5\"."
	noun = "cron expression"
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return noun, fmt.Sprintf("It has %s. %s", diagnostic.Counted(len(fields), "field"), form)
	}
	for i, field := range fields {
		if written, instead := cronFields[i].unwrapped(field); instead != "" {
			return noun, fmt.Sprintf("Ranges can't wrap around: instead of %s, write %s.", written, instead)
		}
	}
	if _, err := schedule.Read(strings.Join(fields, " "), "UTC"); err != nil {
		return noun, form
	}
	// Any day will do to begin with: a date that never comes never comes.
	if _, err := gronx.NextTickAfter(
		strings.Join(fields, " "),
		time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC),
		true,
	); err != nil {
		return noun, "That date never comes: no such month has such a day."
	}
	return noun, ""
}

// cronField is one field of a cron expression: its names in their order, and its
// first and last number.
type cronField struct {
	names       []string
	first, last int
}

// cronFields are the five fields in their order.
var cronFields = [5]cronField{
	{nil, 0, 59},
	{nil, 0, 23},
	{nil, 1, 31},
	{[]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}, 1, 12},
	{[]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, 0, 6},
}

// unwrapped finds a range whose end comes before its begin, and gives what means
// the same: sat-sun is sat,sun, and fri-mon is fri-sat,sun-mon.
func (f cronField) unwrapped(field string) (written, instead string) {
	for part := range strings.SplitSeq(field, ",") {
		from, to, ok := strings.Cut(part, "-")
		begin, end := f.number(from), f.number(to)
		if !ok || begin < f.first || end < f.first || begin <= end {
			continue
		}
		first, last := strconv.Itoa(f.first), strconv.Itoa(f.last)
		if _, err := strconv.Atoi(from); err != nil {
			first, last = f.names[0], f.names[len(f.names)-1]
		}
		return part, cronRange(from, last) + "," + cronRange(first, to)
	}
	return "", ""
}

// number is a number or name of the field; -1: it is neither.
func (f cronField) number(text string) int {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.first + i
	}
	if number, err := strconv.Atoi(text); err == nil {
		return number
	}
	return -1
}

func cronRange(from, to string) string {
	if strings.EqualFold(from, to) {
		return from
	}
	return from + "-" + to
}
