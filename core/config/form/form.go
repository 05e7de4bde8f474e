package form

import (
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-version"
)

// Text says what a text is called in messages, and what to write instead;
// empty: it is valid.
type Text func(text string) (noun, advice string)

// Named is a form by the name that the tag form gives it; nil: there is none.
func Named(name string) Text { return named[name] }

var named = map[string]Text{
	"name":   matching("name", regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`), NameAdvice),
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

// NameAdvice is what a name of the user's own must look like.
const NameAdvice = "Names begin with a lower-case letter and hold lower-case letters, digits, - and _, at most " +
	"63 of them."

func matching(noun string, pattern *regexp.Regexp, advice string) Text {
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
