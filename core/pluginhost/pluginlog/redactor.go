package pluginlog

import (
	"regexp"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

// Redactor hides what a plugin was given in secret from all that the plugin says:
// answers, errors, log lines. A plugin that means to can still get one past it, by
// writing it in a way of its own.
type Redactor struct{ secrets secret.Redactor }

// enrollmentToken is the form of the tokens in bootstrap documents. What follows
// the operation's id is secret.
var enrollmentToken = regexp.MustCompile(`(fyt1\.[0-9A-Za-z]{26}\.)[a-z2-7]{52}`)

const enrollmentTokenPrefix = "fyt1."

// Learn makes secrets known, before the plugin gets them. It returns how many are
// too short to be hidden.
func (r *Redactor) Learn(secrets []string) (tooShort int) {
	tooShort = r.secrets.Add(secrets...)
	for _, one := range secrets {
		r.secrets.Add(Printable(one)) // as it stands in what was made printable
	}
	return tooShort
}

// Redact returns the text with what is secret replaced.
func (r *Redactor) Redact(text string) string {
	text = r.secrets.Redact(text)
	if strings.Contains(text, enrollmentTokenPrefix) {
		text = enrollmentToken.ReplaceAllString(text, "${1}"+secret.Redacted)
	}
	return text
}

// Cut takes from a text that ends too early what may be the beginning of a secret.
func (r *Redactor) Cut(text []byte) []byte { return text[:max(0, len(text)-r.secrets.Longest())] }
